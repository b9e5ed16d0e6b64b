"""Many literals looked for in many lines at once. Pure.

Every keyword has an anchor: one of its runs of four characters, the rarest. All runs of a text are
looked up among the anchors, and only where one stands a keyword is compared. What that costs hangs
on the length of the text, not on the number of keywords that it holds or lacks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, compress, count

_RUN = 4  # characters that fit an unsigned integer of the machine


class Keywords:
    """Keywords, lower case, ready to be looked for; worth keeping."""

    def __init__(self, keywords: Iterable[str]) -> None:
        every = sorted(set(keywords))
        self._short = [keyword for keyword in every if len(keyword) < _RUN]
        self._anchors = _anchors([keyword for keyword in every if len(keyword) >= _RUN])

    def find(self, texts: Sequence[str]) -> dict[int, set[str]]:
        """Return the keywords that each of the lines holds, by its place; none holds a newline."""
        folded = [text.lower() for text in texts]
        starts = list(accumulate((len(line) + 1 for line in folded), initial=0))
        found: dict[int, set[str]] = {}
        for at, keyword in chain.from_iterable(self._hits("\n".join(folded))):
            place = bisect_right(starts, at) - 1
            if place in found:
                found[place].add(keyword)
            else:
                found[place] = {keyword}
        return found

    def _hits(self, text: str) -> Iterator[list[tuple[int, str]]]:
        anchors, holds = self._anchors, text.startswith
        for offset in range(_RUN):
            runs = _runs(text, offset)
            places = compress(count(), map(anchors.__contains__, runs))
            yield [
                (at, keyword)
                for place in places
                for at in (offset + _RUN * place,)
                for keyword, shift in anchors[runs[place]]
                if holds(keyword, at - shift) and at >= shift
            ]
        for keyword in self._short:
            yield [(match.start(), keyword) for match in re.finditer(re.escape(keyword), text)]


def _runs(text: str, offset: int = 0) -> memoryview:
    """Return every fourth run of four characters as a number; those beyond Latin-1 are one."""
    data = text.encode("latin-1", "replace")
    end = offset + max(len(data) - offset, 0) // _RUN * _RUN
    return memoryview(data[offset:end]).cast("I")


def _anchors(keywords: Sequence[str]) -> dict[int, list[tuple[str, int]]]:
    """Return, by its anchor, each keyword and how far in it that stands.

    The run of a keyword that is the rarest among all keywords is taken to be rare in texts too;
    so few keywords have the same one.
    """
    runs = [_runs(keyword).tolist() for keyword in keywords]
    frequency = Counter(chain.from_iterable(runs)).__getitem__
    anchors: dict[int, list[tuple[str, int]]] = {}
    for keyword, found in zip(keywords, runs, strict=True):
        run = min(found, key=frequency)
        anchors.setdefault(run, []).append((keyword, _RUN * found.index(run)))
    return anchors
