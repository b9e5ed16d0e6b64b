"""`flashdoctor matrix show NAME [KEY]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flashdoctor.cli import options
from flashdoctor.cli.options import did_you_mean, one_of
from flashdoctor.cli.output import Outcome, read_style
from flashdoctor.cli.parsing import Command, new_app
from flashdoctor.errors import UsageError

if TYPE_CHECKING:
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


@app.command("show", cls=Command)
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
    names = [path.removeprefix("compat/") for path in tables.group("compat")]
    sections = _sections(one_of("matrix show", name, names), tables.compat(name))
    shown = sections if key is None else _matching(sections, key, name)
    if output_format == "json":
        return Outcome(text=_json(name, tables.date, shown), output=output)
    from flashdoctor.render.matrix_text import overview_text, rows_text

    write = overview_text if key is None else rows_text
    return Outcome(text=write(shown, read_style(output)), output=output)


def _sections(name: str, table: Mapping[str, Any]) -> list[Section]:
    from flashdoctor.data.compat import COMPAT_SHAPES
    from flashdoctor.render.matrix_text import Section

    shapes = COMPAT_SHAPES[name].sections
    return [
        Section(name=part, rows=tuple(rows), keys=shapes[part].key if part in shapes else ())
        for part, rows in table.items()
        if isinstance(rows, list)
    ]


def _matching(sections: list[Section], key: str, name: str) -> list[Section]:
    """Return the rows that `key` names: exactly if there are any, else by how their keys begin."""
    from flashdoctor.render.matrix_text import Section

    wanted = key.lower()
    for fits in (str.__eq__, str.startswith, str.__contains__):
        found = [
            Section(name=part.name, keys=part.keys, rows=rows)
            for part in sections
            if (rows := tuple(row for row in part.rows if _any(fits, _keys(row, part), wanted)))
        ]
        if found:
            return found
    words = [word for part in sections for row in part.rows for word in _keys(row, part)]
    raise UsageError(
        f"no row of {name} is called {key!r}{did_you_mean(key, words)}",
        hint=f"flashdoctor matrix show {name}",
    )


def _any(fits: Any, words: list[str], wanted: str) -> bool:
    return any(fits(word, wanted) for word in words)


def _keys(row: Mapping[str, Any], section: Section) -> list[str]:
    words = [str(row[key]) for key in section.keys if key in row]
    return [word.lower() for word in (*words, *map(str, row.get("aliases", ())))]


def _json(name: str, date: str, sections: list[Section]) -> str:
    from flashdoctor.render.json_v1 import dump

    rows = {section.name: list(section.rows) for section in sections}
    return dump({"schema": SCHEMA, "name": name, "date": date, "sections": rows})
