"""One pass over the lines of a paste: parsers give facts, signatures give matches. Pure.

Lines come in chunks. What can matter in a chunk is found by its keywords, each looked for once in
the whole chunk; only the lines that hold one are looked at. Memory does not grow with the paste.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from flashdoctor.logs.collected import Collected
from flashdoctor.logs.keywords import Keywords
from flashdoctor.logs.matcher import Index, Matcher
from flashdoctor.logs.parser import Parser
from flashdoctor.logs.ration import Ration
from flashdoctor.logs.traceback import MARKS, Traceback
from flashdoctor.model.log import MENTION, Found, Line, Reading

MAX_LINE = 4096
"""Characters of a line that are looked at."""

_CHUNK_LINES = 4000
_CHUNK_CHARACTERS = 1 << 19
_MARKS = frozenset(MARKS)
_UNIT = 128

_SHARED = 3000
_EACH = 64
_LAST_OF_CHUNK = 8
"""Lines (of `_UNIT` characters) that all parsers are fed before they are rationed; that each one is
fed after that; and then in every chunk: its last. One that is open is fed on."""


def scan(lines: Iterable[Line], *, index: Index, parsers: Sequence[Parser]) -> Reading:
    """Read the lines once and return all that they gave."""
    run = _Scan(index, tuple(parsers))
    for chunk in _chunks(lines):
        run.take(chunk)
    return run.finish()


@lru_cache(maxsize=8)
def _lookup(
    index: Index, parsers: tuple[Parser, ...]
) -> tuple[Keywords, Mapping[str, tuple[int, ...]]]:
    """Return all keywords that are looked for, and which parsers each of them is for."""
    wanting: dict[str, list[int]] = {}
    for number, parser in enumerate(parsers):
        for keyword in parser.keywords:
            wanting.setdefault(keyword, []).append(number)
    keywords = Keywords((*index.by_keyword, *wanting, *MARKS))
    return keywords, {keyword: tuple(numbers) for keyword, numbers in wanting.items()}


def _chunks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    chunk: list[Line] = []
    size = 0
    for line in lines:
        short = line if len(line.text) <= MAX_LINE else replace(line, text=line.text[:MAX_LINE])
        chunk.append(short)
        size += len(short.text)
        if size >= _CHUNK_CHARACTERS or len(chunk) >= _CHUNK_LINES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


class _Scan:
    """The state of one pass."""

    def __init__(self, index: Index, parsers: tuple[Parser, ...]) -> None:
        self._keywords, self._by_keyword = _lookup(index, parsers)
        self._collected = Collected()
        self._matcher = Matcher(index)
        self._traceback = Traceback()
        self._ration = Ration(shared=_SHARED, each=_EACH)
        self._tools = [_Tool(parser) for parser in parsers]
        self._lines = 0

    def take(self, lines: Sequence[Line]) -> None:
        held = self._keywords.find([line.text for line in lines])
        marked: list[list[int]] = [[] for _ in self._tools]
        for place in sorted(held):
            numbers = {tool for word in held[place] for tool in self._by_keyword.get(word, ())}
            for number in numbers:
                marked[number].append(place)
        for tool, places in zip(self._tools, marked, strict=True):
            self._collected.add(tool.take(lines, places, self._ration))
        self._match(lines, held)
        self._lines = max(self._lines, lines[-1].number)

    def _match(self, lines: Sequence[Line], held: Mapping[int, set[str]]) -> None:
        wanted = self._matcher.begin(lines, held)
        frames = {place for place, words in held.items() if not _MARKS.isdisjoint(words)}
        for place in sorted(frames | wanted.keys()):
            line = lines[place]
            if place in frames and self._traceback.feed(line.text, line.number):
                self._matcher.stand("log.packages", list(self._traceback.packages))
                self._matcher.stand("log.exception", self._traceback.exception)
            if place in wanted:
                self._collected.add(self._matcher.look(line, place))

    def finish(self) -> Reading:
        for tool in self._tools:
            self._collected.add(tool.end())
        return Reading(
            snapshot=self._collected.snapshot(),
            matches=self._matcher.matches(),
            kinds=tuple(tool.kind for tool in self._tools if tool.recognised),
            lines=self._lines,
            where=self._collected.lines(),
            trust=self._collected.trust(),
            crashed=tuple(tool.crash for tool in self._tools if tool.crash),
        )


class _Tool:
    """One parser at work. One that crashes is left out from then on, and named in the reading."""

    def __init__(self, parser: Parser) -> None:
        self.kind = parser.kind
        self.recognised = False
        self.crash = ""
        self._feed = parser.start()

    def take(self, lines: Sequence[Line], marked: list[int], ration: Ration) -> list[Found]:
        """Read the chunk's lines: those at the marked places, and all while the feed is open."""
        if ration.is_spent(self) and not self._feed.open:
            marked = marked[-_LAST_OF_CHUNK:]
        return self._guard(lambda: self._walk(lines, marked, ration))

    def end(self) -> list[Found]:
        return self._guard(lambda: list(self._feed.end()))

    def _walk(self, lines: Sequence[Line], marked: list[int], ration: Ration) -> list[Found]:
        found: list[Found] = []
        at, following = 0, 0
        while at < len(lines):
            while following < len(marked) and marked[following] < at:
                following += 1
            if not self._feed.open:
                if following == len(marked):
                    break
                at = marked[following]
            is_allowed = ration.take(self, 1 + len(lines[at].text) // _UNIT)
            if is_allowed or self._feed.open or len(marked) - following <= _LAST_OF_CHUNK:
                found += self._feed.feed(lines[at])
            at += 1
        return found

    def _guard(self, work: Callable[[], list[Found]]) -> list[Found]:
        if self.crash:
            return []
        try:
            found = work()
        except Exception as error:  # noqa: BLE001  one tool's odd output must not hide the rest
            self.crash = f"{self.kind}: {type(error).__name__}: {error}"
            return []
        self.recognised = self.recognised or any(item.trust > MENTION for item in found)
        return found
