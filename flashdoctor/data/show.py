"""What `flashdoctor matrix show` looks up: tables by name, rows by any key a person would use."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flashdoctor.data import lookup
from flashdoctor.data.schema import shape_of
from flashdoctor.data.shape import Section
from flashdoctor.data.tables import Tables
from flashdoctor.errors import UsageError
from flashdoctor.model.versions import capability, local_tag, minor, order, public


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One table: its name, and the number of rows in each of its sections."""

    name: str
    rows: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One row and where it stands."""

    table: str
    section: str
    row: Mapping[str, Any]


def list_tables(tables: Tables) -> list[Summary]:
    """Return every table, in the order of their names."""
    return [
        Summary(
            name=name,
            rows={key: len(rows) for key, rows in tables.table(name).items() if _is_rows(rows)},
        )
        for name in tables.names()
    ]


def table_names(tables: Tables, wanted: str) -> tuple[str, ...]:
    """Return the tables that `wanted` names: `torch`, `compat/torch`, or a folder, `rules`.

    `UsageError` where there is no such table; its hint names the nearest.
    """
    names = tables.names()
    folder = tuple(name for name in names if name.startswith(f"{wanted}/"))
    exact = tuple(name for name in names if wanted in (name, name.partition("/")[2]))
    if exact or folder:
        return exact or folder
    short = [name.partition("/")[2] or name for name in names]
    close = difflib.get_close_matches(wanted, [*names, *short], n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(short)}"
    raise UsageError(f"no table {wanted!r}", hint=hint)


def find_rows(tables: Tables, wanted: str, key: str | None = None) -> list[Found]:
    """Return the rows of a table (or of a folder of tables) that `key` names, or all of them.

    `key` is an id, a version (`2.6`, `2.6.0+cu124`), a compute capability, a driver branch or the
    name of a GPU. An empty list where no row fits.
    """
    rows = [row for name in table_names(tables, wanted) for row in _all_rows(tables, name)]
    if key is None:
        return rows
    named = {row["name"] for row in lookup.gpus(tables, key)}
    return [found for found in rows if _fits(found, key, named)]


def _all_rows(tables: Tables, name: str) -> Iterator[Found]:
    for section, rows in tables.table(name).items():
        for row in rows if _is_rows(rows) else ():
            yield Found(table=name, section=section, row=row)


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


def _fits(found: Found, key: str, gpus: set[str]) -> bool:
    row = found.row
    if found.section == "gpu":
        return row["name"] in gpus or _same("cc", row["compute_capability"], key)
    if found.section == "torch_range":
        return _between(row["first"], key, row["last"])
    shape = shape_of(found.table)
    section = shape.sections.get(found.section) if shape else None
    columns = _columns(section) if section else ()
    tag = local_tag(key)
    if tag and "tag" in columns:
        return (row["minor"], row["tag"]) == (minor(key), tag.casefold())
    return any(_same(column, row[column], public(key)) for column in columns if column in row)


def _columns(section: Section) -> tuple[str, ...]:
    """Return the keys that rows are known by."""
    named = tuple(column for group in section.unique for column in group)
    return named or tuple(column for column in ("id", "name") if column in section.fields)


def _same(column: str, value: Any, key: str) -> bool:
    text = str(value).casefold()
    wanted = key.strip().casefold()
    if text == wanted or (column == "minor" and text == minor(wanted)):
        return True
    if column in ("cc", "sm"):
        return capability(text) is not None and capability(text) == capability(wanted)
    if column == "version":
        return (order(text) is not None and order(text) == order(wanted)) or minor(text) == wanted
    return column == "name" and text.replace("_", "-") == wanted.replace("_", "-")


def _between(first: str, key: str, last: str) -> bool:
    low, wanted, high = order(first), order(key), order(last)
    return low is not None and wanted is not None and high is not None and low <= wanted <= high
