"""`flashdoctor matrix show NAME [KEY]`, `matrix verify`, `matrix refresh`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from flashdoctor.cli import options
from flashdoctor.cli.options import did_you_mean
from flashdoctor.cli.output import Outcome, read_style
from flashdoctor.cli.parsing import Command, new_app
from flashdoctor.errors import UsageError

if TYPE_CHECKING:
    from flashdoctor.data.show import Found
    from flashdoctor.data.tables import Tables
    from flashdoctor.render.matrix_text import Section

SCHEMA = "flashdoctor/matrix/v1"

app = new_app("Show the compatibility tables, check and renew them.")

Name = Annotated[
    str | None,
    typer.Argument(metavar="[NAME]", show_default=False, help="A table: torch, vllm, gpus, ..."),
]
Key = Annotated[
    str | None,
    typer.Argument(
        metavar="[KEY]", show_default=False, help="Only rows of this version, GPU, architecture."
    ),
]
Stale = Annotated[
    str | None,
    typer.Option(
        "--stale",
        metavar="DAYS",
        show_default=False,
        help="Only how old rows are, of those at least this old; of all tables without NAME.",
    ),
]
Sample = Annotated[
    str | None,
    typer.Option(
        "--sample", metavar="N", show_default=False, help="Only so many rows [default: all]."
    ),
]
Seed = Annotated[
    str,
    typer.Option(
        "--seed",
        metavar="S",
        show_default=False,
        help="Another seed draws another sample [default: 0].",
    ),
]
Pip = Annotated[
    str | None,
    typer.Option(
        "--python",
        metavar="PATH",
        show_default=False,
        help="The interpreter whose pip (25.3 or newer) asks the index [default: the active one].",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


@app.callback()
def matrix() -> None:
    """Show the compatibility tables, check and renew them."""


@app.command("show", cls=Command, context_settings={"ignore_unknown_options": True})
def show(
    name: Name = None,
    key: Key = None,
    *,
    stale: Stale = None,
    output_format: options.Format = "terminal",
    output: options.Output = None,
) -> Outcome:
    """Show one table, or its rows for one version or GPU with their sources."""
    options.one_of("--format", output_format, options.TEXT_FORMATS)

    from flashdoctor import pipeline

    tables = pipeline.tables()
    if stale is not None:
        days = options.number("--stale", stale)
        return Outcome(text=_ages(tables, name, key, days, output_format), output=output)
    if name is None:
        raise UsageError("Missing argument 'NAME'", hint="flashdoctor matrix show torch")
    sections = _sections(_rows(tables, name, key))
    if output_format == "json":
        return Outcome(text=_json(name, tables.date, sections), output=output)
    from flashdoctor.render.matrix_text import overview_text, rows_text

    write = overview_text if key is None else rows_text
    return Outcome(text=write(sections, read_style(output)), output=output)


def _rows(tables: Tables, name: str, key: str | None) -> list[Found]:
    from flashdoctor.data.show import find_rows

    found = find_rows(tables, name, key)
    if found:
        return found
    if key is None:
        raise UsageError(f"{name} holds no rows")
    words = [word for row in find_rows(tables, name) for word in row.names()]
    raise UsageError(
        f"no row of {name} is called {key!r}{did_you_mean(key, words)}",
        hint=f"flashdoctor matrix show {name}",
    )


def _sections(found: list[Found]) -> list[Section]:
    """Return the rows by their section, with the table before it where there are several."""
    from flashdoctor.render.matrix_text import Section

    several = len({row.table for row in found}) > 1
    parts: dict[str, list[Found]] = {}
    for row in found:
        label = f"{row.table} {row.section}" if several else row.section
        parts.setdefault(label, []).append(row)
    return [
        Section(name=label, rows=tuple(row.row for row in rows), keys=rows[0].columns)
        for label, rows in parts.items()
    ]


def _json(name: str, date: str, sections: list[Section]) -> str:
    from flashdoctor.render.json_v1 import dump

    rows = {section.name: list(section.rows) for section in sections}
    return dump({"schema": SCHEMA, "name": name, "date": date, "sections": rows})


def _ages(tables: Tables, name: str | None, key: str | None, days: int, output_format: str) -> str:
    from datetime import datetime, timezone

    from flashdoctor.data.age import stale

    names = (
        (name,) if name is not None else tuple(path for path in tables.names() if path != "meta")
    )
    rows = [row for each in names for row in _rows(tables, each, key)]
    old = stale(rows, datetime.now(timezone.utc).date(), days)
    if output_format == "json":
        from flashdoctor.render.json_v1 import dump

        body = {"schema": SCHEMA, "name": name, "date": tables.date, "stale_days": days}
        return dump({**body, "of": len(rows), "rows": [row.to_json() for row in old]})
    from flashdoctor.render.upkeep_text import ages_text

    return ages_text(
        [
            (row.days, row.checked, f"{row.found.table} {row.found.section}", row.name)
            for row in old
        ],
        days,
        len(rows),
    )


@app.command("verify", cls=Command)
def verify(  # noqa: PLR0913 - one parameter is one option
    *,
    sample: Sample = None,
    seed: Seed = "0",
    python: Pip = None,
    output_format: options.Format = "terminal",
    output: options.Output = None,
    quiet: Quiet = False,
) -> Outcome:
    """Compare rows of torch, vllm, transformers and flash_attn with the package index.

    Exit code: 0 no difference, 1 differences, 2 wrong usage, 3 the index could not be asked.
    """
    options.one_of("--format", output_format, options.TEXT_FORMATS)
    size = None if sample is None else options.number("--sample", sample, least=1)
    number = options.number("--seed", seed)

    from flashdoctor.cli.progress import Progress
    from flashdoctor.upkeep.commands import pip_index, verify_matrix

    progress = Progress(quiet=quiet)
    try:
        found = verify_matrix(pip_index(python), sample=size, seed=number, progress=progress)
    finally:
        progress.clear()
    if output_format == "json":
        from flashdoctor.render.json_v1 import dump

        text = dump(found.to_json())
    else:
        from flashdoctor.render.upkeep_text import verification_text

        text = verification_text(found, read_style(output))
    return Outcome(text=text, exit_code=found.exit_code, output=output)


@app.command("refresh", cls=Command)
def refresh(
    *,
    python: Pip = None,
    output_format: options.Format = "terminal",
    output: options.Output = None,
    quiet: Quiet = False,
) -> Outcome:
    """Propose rows for releases newer than the tables, as a diff of what METADATA states.

    Exit code: 0 nothing is newer, 1 something is, 2 wrong usage, 3 the index could not be asked.
    """
    options.one_of("--format", output_format, options.TEXT_FORMATS)

    from datetime import datetime, timezone

    from flashdoctor.cli.progress import Progress
    from flashdoctor.upkeep.commands import pip_index, refresh_matrix

    today = datetime.now(timezone.utc).date()
    progress = Progress(quiet=quiet)
    try:
        found = refresh_matrix(pip_index(python), today, progress=progress)
    finally:
        progress.clear()
    if output_format == "json":
        from flashdoctor.render.json_v1 import dump

        text = dump(found.to_json())
    else:
        from flashdoctor.render.upkeep_text import refresh_text

        text = refresh_text(found, read_style(output))
    return Outcome(text=text, exit_code=found.exit_code, output=output)
