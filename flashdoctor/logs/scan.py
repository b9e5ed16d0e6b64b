"""One pass over the lines of a paste: parsers give facts, signatures give matches. Pure.

Lines come in chunks. What can matter in a chunk is found by its keywords, each looked for once in
the whole chunk; only the lines that hold one are looked at. Memory does not grow with the paste.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from flashdoctor.logs.collected import Collected
from flashdoctor.logs.keywords import Chunk
from flashdoctor.logs.matcher import Index, Matcher
from flashdoctor.logs.parser import Parser
from flashdoctor.logs.traceback import MARKS, Traceback
from flashdoctor.model.log import MENTION, Found, Line, Reading

MAX_LINE = 4096
"""Characters of a line that are looked at."""

_CHUNK_LINES = 2000
_CHUNK_CHARACTERS = 1 << 17


def scan(lines: Iterable[Line], *, index: Index, parsers: Sequence[Parser]) -> Reading:
    """Read the lines once and return all that they gave."""
    run = _Scan(index, parsers)
    for chunk in _chunks(lines):
        run.take(Chunk(chunk))
    return run.finish()


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

    def __init__(self, index: Index, parsers: Sequence[Parser]) -> None:
        self._collected = Collected()
        self._matcher = Matcher(index)
        self._traceback = Traceback()
        self._tools = [_Tool(parser) for parser in parsers]
        self._lines = 0

    def take(self, chunk: Chunk) -> None:
        for tool in self._tools:
            self._collected.add(tool.take(chunk))
        self._match(chunk)
        self._lines = max(self._lines, chunk.lines[-1].number)

    def _match(self, chunk: Chunk) -> None:
        wanted = self._matcher.wanted(chunk)
        frames = chunk.lines_with(MARKS)
        for at in sorted(frames | wanted.keys()):
            line = chunk.lines[at]
            if at in frames and self._traceback.feed(line.text, line.number):
                self._matcher.stand("log.packages", list(self._traceback.packages))
                self._matcher.stand("log.exception", self._traceback.exception)
            if at in wanted:
                self._collected.add(self._matcher.look(line, wanted[at]))

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
        self.keywords = parser.keywords
        self.recognised = False
        self.crash = ""
        self._feed = parser.start()

    def take(self, chunk: Chunk) -> list[Found]:
        marked = sorted(chunk.lines_with(self.keywords))
        return self._guard(lambda: self._walk(chunk.lines, marked))

    def end(self) -> list[Found]:
        return self._guard(lambda: list(self._feed.end()))

    def _walk(self, lines: Sequence[Line], marked: list[int]) -> list[Found]:
        found: list[Found] = []
        at, following = 0, 0
        while at < len(lines):
            while following < len(marked) and marked[following] < at:
                following += 1
            if not self._feed.open:
                if following == len(marked):
                    break
                at = marked[following]
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
