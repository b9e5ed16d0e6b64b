"""What `flashdoctor matrix show` looks up: tables by name, rows by any key a person would use."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flashdoctor.data import lookup
from flashdoctor.data.schema import shape_of
from flashdoctor.data.shape import Section, whole_row
from flashdoctor.data.tables import Tables
from flashdoctor.errors import UsageError
from flashdoctor.model.versions import capability, local_tag, minor, order, public

_NO_SHAPE = Section({})
_NEARLY: tuple[Callable[[str, str], bool], ...] = (str.startswith, str.__contains__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One table: its name, and the number of rows in each of its sections."""

    name: str
    rows: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One row, where it stands, and the columns it is known by."""

    table: str
    section: str
    row: Mapping[str, Any]
    columns: tuple[str, ...] = ()

    def names(self) -> list[str]:
        """Return what the row is called: the values of its columns, and its aliases."""
        aliases = (_alias(alias) for alias in self.row.get("aliases", ()))
        return [*(str(self.row[key]) for key in self.columns if key in self.row), *aliases]


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

    A folder's name goes before a short one, and a short one names the first table that has it.
    `UsageError` where there is no such table; its hint names the nearest.
    """
    names = tables.names()
    folder = tuple(name for name in names if name.startswith(f"{wanted}/"))
    named = tuple(name for name in names if wanted in (name, name.partition("/")[2]))
    if wanted in names:
        return (wanted,)
    if folder or named:
        return folder or named[:1]
    short = [name.partition("/")[2] or name for name in names]
    close = difflib.get_close_matches(wanted, [*names, *short], n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(short)}"
    raise UsageError(f"no table {wanted!r}", hint=hint)


def find_rows(tables: Tables, wanted: str, key: str | None = None) -> list[Found]:
    """Return the rows of a table (or of a folder of tables) that `key` names, or all of them.

    `key` is an id, a version (`2.6`, `2.6.0+cu124`), a compute capability, a driver branch, the
    name of a GPU, a flag or a variable. Where no row is called so, those whose names begin with
    `key` are returned, else those whose names hold it; an empty list where none does.
    """
    rows = [row for name in table_names(tables, wanted) for row in _all_rows(tables, name)]
    if key is None:
        return rows
    named = {row["name"] for row in lookup.gpus(tables, key)} if _has_gpus(rows) else set()
    exact = [found for found in rows if _fits(found, key, named)]
    return _sharpest(exact, key) or _nearly(rows, _plain(key))


def _sharpest(rows: list[Found], key: str) -> list[Found]:
    """Leave out rows of a whole X.Y where there is a row of this very release."""
    if not any(found.row.get("version") == key for found in rows):
        return rows
    return [found for found in rows if "version" in found.row or "minor" not in found.columns]


def _nearly(rows: list[Found], wanted: str) -> list[Found]:
    for fits in _NEARLY if wanted else ():
        found = [row for row in rows if any(fits(_plain(name), wanted) for name in row.names())]
        if found:
            return found
    return []


def _all_rows(tables: Tables, name: str) -> Iterator[Found]:
    table = tables.table(name)
    shape = shape_of(name)
    for part, rows in table.items():
        section = shape.sections.get(part, _NO_SHAPE) if shape else _NO_SHAPE
        columns = _columns(section)
        for row in rows if _is_rows(rows) else ():
            whole = whole_row(table, section, row)
            yield Found(table=name, section=part, row=whole, columns=columns)


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


def _has_gpus(rows: list[Found]) -> bool:
    return any(found.section == "gpu" for found in rows)


def _columns(section: Section) -> tuple[str, ...]:
    """Return the keys that rows are known by."""
    named = tuple(dict.fromkeys(column for group in section.unique for column in group))
    return named or tuple(column for column in ("id", "name") if column in section.fields)


def _fits(found: Found, key: str, gpus: set[str]) -> bool:
    row = found.row
    if found.section == "gpu":
        return row["name"] in gpus or _same("cc", row["compute_capability"], key)
    if found.section == "flag":
        return _is_flag(found, key)
    tag = local_tag(key)
    if tag and "tag" in found.columns:
        return (row["minor"], row["tag"]) == (minor(key), tag.casefold())
    if "first" in row and "last" in row and _between(row["first"], key, row["last"]):
        return True
    columns = (column for column in found.columns if column in row and column != "first")
    return any(_same(column, row[column], public(key)) for column in columns)


def _is_flag(found: Found, key: str) -> bool:
    """Whether a row is the flag that `key` writes: with or without dashes, `=value`, `.key`."""
    row = found.row
    if order(key) is not None:
        return _between(row["first"], key, row["last"])
    names = {_plain(name) for name in found.names()}
    wanted = _plain(key.partition("=")[0].partition(".")[0])
    return wanted in names or wanted.removeprefix("no-") in names


def _same(column: str, value: Any, key: str) -> bool:
    text = str(value).casefold()
    wanted = key.strip().casefold()
    if text == wanted or (column == "minor" and text == minor(wanted)):
        return True
    if column in ("cc", "sm"):
        return capability(text) is not None and capability(text) == capability(wanted)
    if column == "version":
        return (order(text) is not None and order(text) == order(wanted)) or minor(text) == wanted
    return column in ("name", "id") and _plain(text) == _plain(wanted)


def _plain(name: str) -> str:
    """Return a name without the dashes of a flag, in small letters and with one kind of dash."""
    return name.strip().casefold().lstrip("-").replace("_", "-")


def _alias(alias: Any) -> str:
    return str(alias["name"] if isinstance(alias, dict) else alias)


def _between(first: str, key: str, last: str) -> bool:
    low, wanted, high = order(first), order(key), order(last)
    return low is not None and wanted is not None and high is not None and low <= wanted <= high
