"""The lines that one signature met in a paste, as far as they are kept. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from flashdoctor.logs.captures import facts_of
from flashdoctor.logs.patterns import meets
from flashdoctor.model.facts import Fact
from flashdoctor.model.log import Line, Match, Signature
from flashdoctor.model.snapshot import Snapshot

STATE = "log."
"""Starts the paths of facts about the log itself; others are about the machine."""

_WARNED = re.compile(r"\b(?:WARN|WARNING|[A-Z][a-z]\w{0,30}Warning|warning)\b(?!s)|^\[?W\d{4}")
_MAX_SHOWN = 640
_MAX_MATCHES = 4
"""Matches of one signature that are kept: the first that differ in their facts. The last of all is
kept beside them."""


class _Entry(NamedTuple):
    """A line that a signature met. `own` is None until the line's facts are read."""

    line: Line
    match: re.Match[str] | None
    state: Mapping[str, Fact]
    own: Mapping[str, Fact] | None


class Kept:
    """The matches of one signature: some that differ, the last one, and their number."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.count = 0
        self._first: list[_Entry] = []
        self._last: _Entry | None = None

    def add(
        self,
        line: Line,
        match: re.Match[str] | None,
        state: Mapping[str, Fact],
        own: Mapping[str, Fact] | None = None,
    ) -> None:
        """Count a line; keep it among the first where its facts are read and are new."""
        if self._last and self._last.line.number == line.number:
            return  # the same line again: joined with what follows it, and alone
        self.count += 1
        self._last = entry = _Entry(line, match, state, own)
        if own is not None and len(self._first) < _MAX_MATCHES and not self._knows(entry):
            self._first.append(entry)

    def _knows(self, entry: _Entry) -> bool:
        return any((entry.own, entry.state) == (old.own, old.state) for old in self._first)

    def matches(self) -> Iterator[Match]:
        """Yield the first ones, and the last."""
        yield from (self._match(entry) for entry in self._first)
        if self._last is not None and self._last is not self._first[-1]:
            yield self._match(self._read(self._last))

    def _read(self, entry: _Entry) -> _Entry:
        """Read the facts of a line that was only counted."""
        if entry.own is not None:
            return entry
        met = entry.match or meets(self.signature, entry.line.text)
        match = met if isinstance(met, re.Match) else None
        facts = (fact for fact in facts_of(self.signature, match) if fact.path.startswith(STATE))
        return entry._replace(match=match, own={fact.path: fact for fact in facts})

    def _match(self, entry: _Entry) -> Match:
        line, own = entry.line, entry.own or {}
        before = line.raw[: _MAX_SHOWN // 2] or line.text[: _MAX_SHOWN // 2]
        return Match(
            signature=self.signature,
            line=line.number,
            text=_shown(line.text, entry.match),
            facts=Snapshot({**entry.state, **own}),
            count=self.count,
            warned=_WARNED.search(before) is not None,
            own=frozenset(own),
        )


def _shown(text: str, match: re.Match[str] | None) -> str:
    """Return what can be shown of a line: all of it, or what stands around the match."""
    if len(text) <= _MAX_SHOWN:
        return text
    start = max(0, match.start() - _MAX_SHOWN // 4) if match else 0
    return text[start : start + _MAX_SHOWN]
