"""Signatures at work on one paste: which lines they meet, and in which state of the log. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flashdoctor.logs.captures import SOURCE, facts_of
from flashdoctor.logs.kept import STATE, Kept
from flashdoctor.logs.patterns import LONG_LINE, depends_on_digits, meets
from flashdoctor.logs.ration import Ration
from flashdoctor.model.facts import Fact, known
from flashdoctor.model.log import Found, Line, Match, Signature

_TRUST = 3
_READ_OUT = 64
"""Matches of one signature whose facts are read; of later ones only those of the last."""

_SAME_LINES = 8
"""Lines that differ in nothing but digits and are looked at; what comes after them is as they."""

_MAX_TEMPLATES = 20_000
_ZEROS = str.maketrans("123456789", "000000000")
_UNIT = 128

_SHARED = 5000
_MOST = 800
_EACH = 16
_LAST_OF_CHUNK = 2
"""Searches of all signatures (in lines of `_UNIT` characters) before they are rationed, and of one;
of each one after that; and then of each one in every chunk: its last."""


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
        self._kept: dict[int, Kept] = {}
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
        cost = (1 + len(line.text) // _UNIT) ** 2 if len(line.text) <= LONG_LINE else _UNIT
        for number in sorted(rows):
            signature = self._signatures[number]
            if known_kind and not depends_on_digits(signature.pattern):
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
            cost = 1 if len(self._lines[place].text) <= LONG_LINE else _LAST_OF_CHUNK
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
        kept = self._kept.setdefault(number, Kept(signature))
        if signature.cause is not None and kept.count >= _READ_OUT:
            kept.add(line, match, self._state)
            return
        own: dict[str, Fact] = {}
        for fact in facts_of(signature, match):
            if fact.path.startswith(STATE):
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
