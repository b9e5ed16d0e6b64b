"""`pip list` and `uv pip list`: columns of any width, JSON, and rows that a grep left over."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flashdoctor.logs.parsers._packages import PackageTable, state_package, watched_keywords
from flashdoctor.logs.parsers._stated import is_version, on
from flashdoctor.logs.statements import BlockParser
from flashdoctor.model.log import Found, Line

_SOURCE = "pip list"
_HEAD = re.compile(r"\W{0,6}Package\s{1,80}(?:\|\s{1,80})?Version\b(?!\s+Build\b)")
_RULE = re.compile(r"[\s|+:-]{3,}")
_NAME = r"(?P<name>[A-Za-z0-9][\w.-]{0,80})"
_VERSION = r"(?P<version>\d[\w.!+-]{0,62})"
_ROW = re.compile(rf"[\s|]{{0,6}}{_NAME}(?:\s{{1,80}}|\s{{0,80}}\|\s{{0,20}}){_VERSION}(?:[\s|]|$)")
_BARE = re.compile(
    rf"[\s|]{{0,6}}{_NAME}(?:\s{{2,80}}|\t|\s{{0,80}}\|\s{{0,20}}){_VERSION}"
    r"(?:\s{1,80}(?:[/~\\]|[A-Za-z]:\\)\S{0,300}(?:\s{1,20}\w{1,12})?)?[\s|]{0,40}"
)
_JSON = re.compile(
    r'"name":\s?"(?P<name>[\w.-]{1,80})",\s?"version":\s?"(?P<version>[^"\s]{1,64})"'
)
_MAX_OTHERS = 2
"""Lines in a row that are no package until a list counts as over."""


class _List(PackageTable):
    """The rows under one head, or rows alone."""

    def __init__(self) -> None:
        super().__init__(_SOURCE, _MAX_OTHERS)

    def feed(self, line: Line) -> Iterable[Found]:
        """Read a head or a row. Without a head a row is a name, two spaces or more, a version."""
        text = line.text
        if _HEAD.match(text) or (self.open and _RULE.fullmatch(text)):
            self._begin()
            return ()
        row = _ROW.match(text) if self.open else _BARE.fullmatch(text)
        if row is None:
            self._miss()
            return self._json(line) if '"version"' in text else ()
        self._go_on()
        return self._row(row, line)

    def _json(self, line: Line) -> Iterator[Found]:
        for row in _JSON.finditer(line.text):
            yield from self._row(row, line)

    def _row(self, row: re.Match[str], line: Line) -> Iterator[Found]:
        if is_version(row["version"]):
            self._companions.add(row["name"], row["version"], line)
            yield from on(line, state_package(row["name"], row["version"], _SOURCE))


PARSER = BlockParser(
    kind="pip list",
    keywords=("package ", '"version": ', *watched_keywords("  "), *watched_keywords("\t")),
    make=_List,
)
