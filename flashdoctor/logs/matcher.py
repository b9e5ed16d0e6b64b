"""Signatures at work on one paste: which lines they meet, and in which state of the log. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from flashdoctor.logs.captures import SOURCE, facts_of
from flashdoctor.logs.keywords import Chunk
from flashdoctor.model.facts import Fact, known
from flashdoctor.model.log import Found, Line, Match, Signature
from flashdoctor.model.snapshot import Snapshot

_STATE = "log."
_WARNED = re.compile(r"\b(?:WARN|WARNING|[A-Z][a-z]\w{0,30}Warning|warning)\b(?!s)|^\[?W\d{4}")
_MAX_SHOWN = 640
_TRUST = 3
_MAX_MATCHES = 4
"""Matches of one signature that are kept: the first that differ in their facts. The last of all is
kept beside them."""


_LONG_LINE = 1024
_MAX_LONG_LINES = 32
"""Lines longer than that which one signature is tried on. Messages are short; a paste of nothing
but long lines with everything in them was made to cost time."""


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern once for all pastes."""
    return re.compile(pattern)


def meets(signature: Signature, text: str) -> re.Match[str] | bool:
    """Whether a line is one that the signature describes: a match, or True without a pattern.

    The keywords are what the scan looks for first, so that a line without any is never seen here.
    """
    if not signature.pattern:
        return True
    return compiled(signature.pattern).search(text) or False


@dataclass(frozen=True, slots=True)
class Index:
    """Signatures, those that only set the state first, and by keyword their places among them."""

    signatures: tuple[Signature, ...]
    by_keyword: Mapping[str, tuple[int, ...]]


def make_index(signatures: Iterable[Signature]) -> Index:
    """Make what every pass over a paste needs; worth keeping."""
    ordered = tuple(sorted(signatures, key=lambda row: row.cause is not None))
    found: dict[str, list[int]] = {}
    for number, signature in enumerate(ordered):
        for keyword in signature.keywords:
            found.setdefault(keyword, []).append(number)
    return Index(ordered, {keyword: tuple(rows) for keyword, rows in found.items()})


class Matcher:
    """All signatures, the state of the log, and the matches so far."""

    def __init__(self, index: Index) -> None:
        self._signatures = index.signatures
        self._by_keyword = index.by_keyword
        self._state: dict[str, Fact] = {}
        self._kept: dict[int, _Kept] = {}
        self._long: Counter[int] = Counter()

    def wanted(self, chunk: Chunk) -> dict[int, set[int]]:
        """Return, by line of the chunk, the signatures one of whose keywords it holds."""
        wanted: dict[int, set[int]] = {}
        for keyword, rows in self._by_keyword.items():
            for line in chunk.places(keyword):
                wanted.setdefault(line, set()).update(rows)
        return wanted

    def stand(self, path: str, value: Any) -> None:
        """Set a part of the log's state."""
        self._state[path] = known(path, value, SOURCE)

    def look(self, line: Line, rows: set[int]) -> Iterator[Found]:
        """Match a line with these signatures; facts about the machine are handed on at once."""
        for number in sorted(rows):
            if len(line.text) > _LONG_LINE:
                self._long[number] += 1
                if self._long[number] > _MAX_LONG_LINES:
                    continue
            signature = self._signatures[number]
            met = meets(signature, line.text)
            if not met:
                continue
            match = met if isinstance(met, re.Match) else None
            own: dict[str, Fact] = {}
            for fact in facts_of(signature, match):
                if fact.path.startswith(_STATE):
                    own[fact.path] = fact
                else:
                    yield Found(fact=fact, line=line.number, trust=_TRUST)
            if signature.cause is None:
                self._state.update(own)
            else:
                kept = self._kept.setdefault(number, _Kept())
                kept.add(_entry(line, match, {**self._state, **own}, frozenset(own)))

    def matches(self) -> tuple[Match, ...]:
        """Return what was kept, by line."""
        found = [
            Match(
                signature=self._signatures[number],
                line=entry.line,
                text=entry.text,
                facts=Snapshot(entry.facts),
                count=kept.count,
                warned=entry.warned,
                own=entry.own,
            )
            for number, kept in self._kept.items()
            for entry in kept.entries()
        ]
        return tuple(sorted(found, key=lambda match: (match.line, match.signature.id)))


class _Entry(NamedTuple):
    line: int
    text: str
    facts: Mapping[str, Fact]
    own: frozenset[str]
    warned: bool


class _Kept:
    """The matches of one signature: some that differ, the last one, and their number."""

    def __init__(self) -> None:
        self.count = 0
        self._first: list[_Entry] = []
        self._last: _Entry | None = None

    def add(self, entry: _Entry) -> None:
        if self._last and self._last.line == entry.line:
            return  # the same line again: joined with what follows it, and alone
        self.count += 1
        self._last = entry
        if len(self._first) < _MAX_MATCHES and all(entry.facts != old.facts for old in self._first):
            self._first.append(entry)

    def entries(self) -> Iterator[_Entry]:
        yield from self._first
        if self._last is not None and self._last is not self._first[-1]:
            yield self._last


def _entry(
    line: Line, match: re.Match[str] | None, facts: Mapping[str, Fact], own: frozenset[str]
) -> _Entry:
    before = line.raw[: _MAX_SHOWN // 2] or line.text[: _MAX_SHOWN // 2]
    warned = _WARNED.search(before) is not None
    return _Entry(line.number, _shown(line.text, match), facts, own, warned)


def _shown(text: str, match: re.Match[str] | None) -> str:
    """Return what can be shown of a line: all of it, or what stands around the match."""
    if len(text) <= _MAX_SHOWN:
        return text
    start = max(0, match.start() - _MAX_SHOWN // 4) if match else 0
    return text[start : start + _MAX_SHOWN]
