"""The matrices in memory: each table is read when it is first asked for, and only once.

An installed wheel carries every table twice: as TOML, to be read by people, and as JSON under
`compiled/`, checked when the wheel was built. From a checkout the TOML is parsed and checked at
every start. Both give the same JSON values: dates are ISO texts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from datetime import date
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from flashdoctor.data.find import find_matrices
from flashdoctor.errors import MatrixError

if TYPE_CHECKING:
    from importlib.abc import Traversable

Table = Mapping[str, Any]
T = TypeVar("T")

COMPILED = "compiled"
_GROUPS = ("compat", "rules", "launch", "signatures")


class Tables:
    """The tables of one matrices folder. A name is a path without its ending: `compat/torch`.

    `compiled` says whether they come from JSON that was checked when it was written; with
    `toml=True` the TOML is read even where that JSON is there.
    """

    def __init__(self, folder: Traversable, *, toml: bool = False) -> None:
        compiled = folder / COMPILED
        self.compiled = not toml and compiled.is_dir()
        self._folder = compiled if self.compiled else folder
        self._ending = ".json" if self.compiled else ".toml"
        self._read: dict[str, Table] = {}
        self._derived: dict[str, Any] = {}

    @property
    def date(self) -> str:
        """The day the whole dataset was last gone through, `2026-11-30`."""
        return str(self.table("meta")["date"])

    def names(self) -> tuple[str, ...]:
        """Return the name of every table, in a fixed order."""
        groups = (name for group in _GROUPS for name in self.group(group))
        return (*self._listed(self._folder, ""), *groups)

    def table(self, name: str) -> Table:
        """Return one table; `MatrixError` with all its mistakes, or where there is none."""
        if name not in self._read:
            text = self._text(name)
            self._read[name] = _from_json(name, text) if self.compiled else parse_table(name, text)
        return self._read[name]

    def compat(self, name: str) -> Table:
        """Return a table of compat/: driver_cuda, torch, flash_attn, vllm, transformers, ..."""
        return self.table(f"compat/{name}")

    def group(self, name: str) -> tuple[str, ...]:
        """Return the names of the tables in one folder: `rules` gives `rules/host`, ..."""
        return tuple(self._listed(self._folder / name, f"{name}/"))

    def examine(self, name: str) -> tuple[Table, list[str]]:
        """Return one TOML table and its mistakes, for checks that go on after the first one."""
        try:
            text = self._text(name)
        except MatrixError as error:
            return {}, [error.message]
        table, mistakes = examine_table(name, text)
        if not mistakes:
            self._read[name] = table
        return table, mistakes

    def written(self, name: str) -> str:
        """Return the text of a table's file."""
        return self._text(name)

    def derived(self, key: str, make: Callable[[Tables], T]) -> T:
        """Return what `make` makes of these tables: worked out once, then kept under `key`."""
        if key not in self._derived:
            self._derived[key] = make(self)
        kept: T = self._derived[key]
        return kept

    def _listed(self, folder: Traversable, prefix: str) -> list[str]:
        if not folder.is_dir():
            return []
        files = sorted(item.name for item in folder.iterdir() if item.name.endswith(self._ending))
        return [prefix + file[: -len(self._ending)] for file in files]

    def _text(self, name: str) -> str:
        file = self._folder.joinpath(*f"{name}{self._ending}".split("/"))
        try:
            return file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise MatrixError(f"no table {name!r}", hint=f"there are {_list(self)}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise MatrixError(f"{name}{self._ending}: cannot be read: {error}") from error


@cache
def load_tables() -> Tables:
    """Return the tables of this installation; nothing but the folder is looked up yet."""
    return Tables(find_matrices())


def toml_text(name: str) -> str:
    """Return a table as its authors wrote it; an installed wheel carries that as well."""
    return Tables(find_matrices(), toml=True).written(name)


def parse_table(name: str, text: str) -> Table:
    """Parse a TOML table and check it against its shape; every mistake in one `MatrixError`."""
    table, mistakes = examine_table(name, text)
    if mistakes:
        raise MatrixError("\n".join(mistakes))
    return table


def examine_table(name: str, text: str) -> tuple[Table, list[str]]:
    """Return what could be parsed, and every mistake with the file's name before its path."""
    from flashdoctor.data.schema import shape_of  # noqa: PLC0415  an installed wheel needs none
    from flashdoctor.data.shape import mistakes_in  # noqa: PLC0415  the same

    toml = _toml()
    try:
        table = toml.loads(text)
    except toml.TOMLDecodeError as error:
        return {}, [f"{name}.toml: not TOML: {error}"]
    shape = shape_of(name)
    if shape is None:
        return table, [f"{name}.toml: no shape is written down for this table"]
    return plain(table), [f"{name}.toml: {mistake}" for mistake in mistakes_in(table, shape)]


def plain(value: Any) -> Any:
    """Return a TOML value as JSON holds it: dates become ISO texts, all else stays."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def _toml() -> Any:
    return import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


def _from_json(name: str, text: str) -> Table:
    try:
        table: Any = json.loads(text)
    except ValueError as error:
        raise MatrixError(f"{name}.json: not JSON: {error}", hint="install it again") from error
    if not isinstance(table, dict):
        raise MatrixError(f"{name}.json: not an object", hint="install it again")
    found: Table = table
    return found


def _list(tables: Tables) -> str:
    return ", ".join(tables.names()) or "none"
