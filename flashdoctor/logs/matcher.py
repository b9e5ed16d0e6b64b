"""Signatures at work on one paste: which lines they meet, and in which state of the log. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from flashdoctor.logs.captures import SOURCE, facts_of
from flashdoctor.logs.ration import Ration
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

_READ_OUT = 64
"""Matches of one signature whose facts are read; of later ones only those of the last."""

_LONG_LINE = 1024
"""Characters up to which a line is searched as a whole; messages are short, and what a pattern
costs can grow with the square of the length. A longer one is searched around the keywords."""

_BEFORE_KEYWORD = 512
_BEHIND_KEYWORD = 896

_SAME_LINES = 8
"""Lines that differ in nothing but digits and are looked at; what comes after them is as they."""

_MAX_TEMPLATES = 20_000
_ZEROS = str.maketrans("123456789", "000000000")
_NO_NUMBERS = re.compile(r"\{\d*,?\d*\}|\[[^\]]{0,60}\]")
_UNIT = 128

_SHARED = 5000
_MOST = 800
_EACH = 16
_LAST_OF_CHUNK = 2
"""Searches of all signatures (in lines of `_UNIT` characters) before they are rationed, and of one;
of each one after that; and then of each one in every chunk: its last."""


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
    pattern = compiled(signature.pattern)
    if len(text) <= _LONG_LINE:
        return pattern.search(text) or False
    found = (pattern.search(text, *part) for part in _around(signature.keywords, text.lower()))
    return next((match for match in found if match), False)


@lru_cache(maxsize=4096)
def _hangs_on_digits(pattern: str) -> bool:
    """Whether a pattern names a number, so that lines which differ in digits differ for it."""
    return re.search(r"\d", _NO_NUMBERS.sub("", pattern)) is not None


def _around(keywords: Iterable[str], folded: str) -> Iterator[tuple[int, int]]:
    """Yield the parts of a long line in which keywords stand: the first two, and the last."""
    ends = (find(keyword) for keyword in keywords for find in (folded.find, folded.rfind))
    spots = sorted({at for at in ends if at >= 0})
    reached = 0
    for at in dict.fromkeys((*spots[:2], *spots[-1:])):
        start, end = max(at - _BEFORE_KEYWORD, 0), at + _BEHIND_KEYWORD
        if end - reached > _BEHIND_KEYWORD // 2:
            yield start, end
            reached = end


@dataclass(frozen=True, slots=True, eq=False)
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


@dataclass(slots=True)
class _Template:
    """Lines that differ in nothing but digits: how many, and which signatures they met."""

    count: int = 0
    met: set[int] = field(default_factory=set)


class Matcher:
    """All signatures, the state of the log, and the matches so far."""

    def __init__(self, index: Index) -> None:
        self._signatures = index.signatures
        self._by_keyword = index.by_keyword
        self._state: dict[str, Fact] = {}
        self._kept: dict[int, _Kept] = {}
        self._templates: dict[int, _Template] = {}
        self._ration = Ration(shared=_SHARED, most=_MOST, each=_EACH)
        self._lines: Sequence[Line] = ()
        self._wanted: dict[int, set[int]] = {}
        self._last: set[tuple[int, int]] | None = None

    def begin(self, lines: Sequence[Line], held: Mapping[int, set[str]]) -> Mapping[int, set[int]]:
        """Turn to a chunk: given the keywords, return the signatures by the line to look at."""
        get = self._by_keyword.get
        self._lines, self._wanted, self._last = lines, {}, None
        for place, keywords in held.items():
            rows = {row for keyword in keywords for row in get(keyword, ())}
            if rows:
                self._wanted[place] = rows
        if self._ration.is_short:
            self._last = self._last_of_each()
            self._wanted = self._not_spent(self._last)
        return self._wanted

    def _not_spent(self, last: set[tuple[int, int]]) -> dict[int, set[int]]:
        """Leave out what would not be tried anyhow, so that it costs nothing."""
        spent = {number for number in range(len(self._signatures)) if self._ration.is_spent(number)}
        left = {
            place: {row for row in rows if row not in spent or (row, place) in last}
            for place, rows in self._wanted.items()
        }
        return {place: rows for place, rows in left.items() if rows}

    def stand(self, path: str, value: Any) -> None:
        """Set a part of the log's state."""
        if path not in self._state or self._state[path].value != value:
            self._state = {**self._state, path: known(path, value, SOURCE)}

    def look(self, line: Line, place: int) -> Iterator[Found]:
        """Match the line at a place of the chunk; facts about the machine are handed on at once."""
        rows = self._wanted[place]
        template = self._template(line.text, rows)
        template.count += 1
        known_kind = template.count > _SAME_LINES
        cost = (1 + len(line.text) // _UNIT) ** 2 if len(line.text) <= _LONG_LINE else _UNIT
        for number in sorted(rows):
            signature = self._signatures[number]
            if known_kind and not _hangs_on_digits(signature.pattern):
                if number not in template.met:
                    continue
                if signature.cause is not None:
                    self._kept[number].add(line, None, self._state)
                    continue
            if self._may(number, place, cost):
                yield from self._try(number, line, template)

    def _last_of_each(self) -> set[tuple[int, int]]:
        """Return, with the line's place, the last lines that each signature wants."""
        counts: Counter[int] = Counter()
        last: set[tuple[int, int]] = set()
        for place in sorted(self._wanted, reverse=True):
            cost = 1 if len(self._lines[place].text) <= _LONG_LINE else _LAST_OF_CHUNK
            for number in self._wanted[place]:
                if counts[number] < _LAST_OF_CHUNK:
                    counts[number] += cost
                    last.add((number, place))
        return last

    def _template(self, text: str, rows: set[int]) -> _Template:
        key = hash((text.translate(_ZEROS), frozenset(rows)))  # lines themselves may be long
        found = self._templates.get(key)
        if found is None:
            if len(self._templates) >= _MAX_TEMPLATES:
                self._templates.clear()
            found = self._templates[key] = _Template()
        return found

    def _may(self, number: int, place: int, cost: int) -> bool:
        """Whether a signature may be tried: while there is a ration, and at the chunk's end."""
        if self._ration.take(number, cost):
            return True
        if self._last is None:
            self._last = self._last_of_each()
        return (number, place) in self._last

    def _try(self, number: int, line: Line, template: _Template) -> Iterator[Found]:
        signature = self._signatures[number]
        met = meets(signature, line.text)
        if not met:
            return
        template.met.add(number)
        match = met if isinstance(met, re.Match) else None
        kept = self._kept.setdefault(number, _Kept(signature))
        if signature.cause is not None and kept.count >= _READ_OUT:
            kept.add(line, match, self._state)
            return
        own: dict[str, Fact] = {}
        for fact in facts_of(signature, match):
            if fact.path.startswith(_STATE):
                own[fact.path] = fact
            else:
                yield Found(fact=fact, line=line.number, trust=_TRUST)
        kept.add(line, match, self._state, own)
        if signature.cause is None:
            self._state = {**self._state, **own}

    def matches(self) -> tuple[Match, ...]:
        """Return what was kept, by line."""
        found = [
            match
            for kept in self._kept.values()
            if kept.signature.cause is not None
            for match in kept.matches()
        ]
        return tuple(sorted(found, key=lambda match: (match.line, match.signature.id)))


class _Entry(NamedTuple):
    """A line that a signature met. `own` is None until the line's facts are read."""

    line: Line
    match: re.Match[str] | None
    state: Mapping[str, Fact]
    own: Mapping[str, Fact] | None


class _Kept:
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
        facts = (fact for fact in facts_of(self.signature, match) if fact.path.startswith(_STATE))
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
