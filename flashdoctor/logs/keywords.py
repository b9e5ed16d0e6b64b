"""Literals looked for in many lines at once. Pure.

A chunk of lines is first taken apart into all its runs of four characters. A keyword of which one
run is not there need not be looked for: that leaves a few of a thousand, whatever the text is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate

from flashdoctor.model.log import Line

_RUN = 4  # characters that fit an unsigned integer of the machine


class Chunk:
    """Some lines in lower case, ready to be searched for keywords."""

    def __init__(self, lines: Sequence[Line]) -> None:
        folded = [line.text.lower() for line in lines]
        self.lines = lines
        self._text = "\n".join(folded)
        self._starts = list(accumulate((len(line) + 1 for line in folded), initial=0))
        self._runs = _runs(self._text)

    def lines_with(self, keywords: Iterable[str]) -> set[int]:
        """Return the places of the lines that hold one of the keywords."""
        return {place for keyword in keywords for place in self.places(keyword)}

    def places(self, keyword: str) -> Iterator[int]:
        """Yield the place of each line that holds the keyword, once."""
        if not _runs_of_keyword(keyword) <= self._runs:
            return
        text, starts = self._text, self._starts
        at = text.find(keyword)
        while at >= 0:
            place = bisect_right(starts, at) - 1
            yield place
            at = text.find(keyword, starts[place + 1])


@cache
def _runs_of_keyword(keyword: str) -> frozenset[int]:
    return frozenset(_runs(keyword))


def _runs(text: str) -> set[int]:
    """Return every run of four characters as a number; those beyond Latin-1 count as one."""
    data = text.encode("latin-1", "replace")
    found: set[int] = set()
    for offset in range(min(_RUN, max(len(data) - _RUN + 1, 0))):
        end = offset + (len(data) - offset) // _RUN * _RUN
        found.update(memoryview(data[offset:end]).cast("I"))
    return found
