"""What parsers have in common: facts with their line, and feeds that need no state. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from flashdoctor.logs.parser import Feed
from flashdoctor.logs.values import read_value
from flashdoctor.model.facts import absent, known
from flashdoctor.model.log import Found, Line

REPORT = 3
"""Trust in what a program says about itself."""

STATED = 2
"""Trust in a labelled line."""

MENTION = 1
"""Trust in words in passing."""

TABLE_WIDTH = 400
"""Characters of a line in which tools with short lines are looked for: no row is longer."""

Reader: TypeAlias = Callable[[Line], Iterable[Found]]


def say(path: str, value: Any, line: Line, source: str, trust: int = REPORT) -> Found:
    """Make the fact that a line states."""
    return Found(fact=known(path, value, source), line=line.number, trust=trust)


def say_absent(path: str, line: Line, source: str, trust: int = STATED) -> Found:
    """Make the fact that a line says that something is not there."""
    return Found(fact=absent(path, source), line=line.number, trust=trust)


def shorten(line: Line) -> Line:
    """Return the line, cut where it is longer than any row of a table."""
    if len(line.text) <= TABLE_WIDTH:
        return line
    return Line(line.number, line.text[:TABLE_WIDTH], line.raw)


def read(path: str, text: str, line: Line, source: str, trust: int = REPORT) -> Iterable[Found]:
    """Read a text as the kind of the fact at `path`; nothing where it does not fit."""
    try:
        value = read_value(path, text)
    except (ValueError, OverflowError):
        return ()
    return (say(path, value, line, source, trust),)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineParser:
    """A parser for a tool of which every line stands for itself."""

    kind: str
    keywords: tuple[str, ...]
    read: Reader

    def start(self) -> Feed:
        """Make a feed; it keeps nothing."""
        return _LineFeed(self.read)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockParser:
    """A parser for a tool of which several lines belong together."""

    kind: str
    keywords: tuple[str, ...]
    make: Callable[[], Feed]

    def start(self) -> Feed:
        """Make a fresh state."""
        return self.make()


class _LineFeed:
    """Hands every line on and forgets it."""

    def __init__(self, reader: Reader) -> None:
        self.open = False
        self._read = reader

    def feed(self, line: Line) -> Iterable[Found]:
        """Give the facts of one line."""
        return self._read(line)

    def end(self) -> Iterable[Found]:
        """Give nothing: no line is waited for."""
        return ()
