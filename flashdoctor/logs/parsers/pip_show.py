"""`pip show`: a package's name and version on lines of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flashdoctor.logs.parsers._packages import PATHS, normalised, state_package
from flashdoctor.logs.parsers._stated import on
from flashdoctor.logs.statements import REPORT, BlockParser
from flashdoctor.model.facts import Fact, absent
from flashdoctor.model.log import Found, Line

_SOURCE = "pip show"
_NAME = re.compile(r"\s{0,4}Name: (?P<name>[\w.-]{1,80})\s*$")
_VERSION = re.compile(r"\s{0,4}Version: (?P<version>\S{1,80})\s*$")
_MISSING = re.compile(r"Package\(s\) not found: (?P<names>[\w., -]{1,200})")


class _Show:
    """A name that waits for its version: it stands in the next line."""

    def __init__(self) -> None:
        self.open = False  # whether a name has been read and its version has not
        self._name = ""

    def feed(self, line: Line) -> Iterable[Found]:
        """Read a name, its version, or that there is no such package."""
        missing = _MISSING.search(line.text)
        if missing:
            return on(line, _absences(missing["names"]), REPORT)
        name, version = _NAME.match(line.text), _VERSION.match(line.text)
        waiting, self._name = self._name, name["name"] if name else ""
        self.open = bool(self._name)
        if version and waiting:
            return on(line, state_package(waiting, version["version"], _SOURCE))
        return ()

    def end(self) -> Iterable[Found]:
        """Give nothing: a name without a version says nothing."""
        return ()


def _absences(names: str) -> Iterator[Fact]:
    for name in names.split(","):
        path = PATHS.get(normalised(name))
        if path:
            yield absent(path, _SOURCE, "pip finds no such package")


PARSER = BlockParser(kind="pip show", keywords=("name: ", "package(s) not found"), make=_Show)
