"""`flashdoctor matrix show NAME [KEY]`."""

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

app = new_app("Show the compatibility tables.")

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", show_default=False, help="A table: torch, vllm, gpus, ..."),
]
Key = Annotated[
    str | None,
    typer.Argument(
        metavar="[KEY]", show_default=False, help="Only rows of this version, GPU, architecture."
    ),
]


@app.callback()
def matrix() -> None:
    """Show the compatibility tables."""


@app.command("show", cls=Command, context_settings={"ignore_unknown_options": True})
def show(
    name: Name,
    key: Key = None,
    *,
    output_format: options.Format = "terminal",
    output: options.Output = None,
) -> Outcome:
    """Show one table, or its rows for one version or GPU with their sources."""
    options.one_of("--format", output_format, options.TEXT_FORMATS)

    from flashdoctor import pipeline

    tables = pipeline.tables()
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
