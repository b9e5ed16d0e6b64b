"""Lines that a terminal or a box broke because they were too long. Pure.

Nothing says for certain that a line was broken, so a joined line only ever comes beside its parts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_NARROWEST = 60
_WIDTHS = frozenset({80, 100, 110, 120, 128, 132, 140, 150, 160, 180, 200})
"""Widths that terminals often have. At any other two lines must end, or the next one must look like
the rest of a word or a sentence."""

_OFTEN = 2
_AROUND = 4
_MOST_LINES = 24
_MOST_CHARACTERS = 4096
_LONG_WORD = 24
_ENDS = ("|", "+", "---", "===", "***", "###", "~~~", "___", "^^^", "...")
"""How a line of a table or a rule ends."""

_BAR = "\u2502"

# How a line starts that is not the rest of the one before it.
_NEW = re.compile(
    r"\s*$|\s*File \"|Traceback |During handling|The above exc|(?:[\w.]{1,60})?(?:Error|Exception"
    r"|Warning):|(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL)\b|\d{4}-\d\d-\d\d|\[\d|[|+$]"
    r"|[\w.-]{2,40} +v?\d+\.\d[\w.+]{0,40}\s*$"  # a package and its version
    r"|>>>|\(\w+ pid=|\[(?:rank|INFO|WARN|ERROR)|[\w.-]{1,40}==|[A-Z](?![A-Z\d]*_)[\w .-]{1,40}: "
)
_GOES_ON = re.compile(r" ?[a-z0-9_./'-]")


class Shown(NamedTuple):
    """A line as it stood there and as it was cleaned.

    `width` is its length in characters without escapes, 0 where the text is only a part of what
    stood there; `room` the columns left free inside a box, -1 outside of one.
    """

    number: int
    raw: str
    text: str
    width: int
    room: int = -1


def free_room(plain: str) -> int:
    """Return how many columns are free behind the text of a line of a box, -1 where it is none."""
    first, last = plain.find(_BAR), plain.rfind(_BAR)
    if last <= first:
        return -1
    inner = plain[first + 1 : last]
    return max(len(inner) - 2 - len(inner.strip()), 0)


def joined_lines(lines: Sequence[Shown]) -> Iterator[tuple[int, str, str]]:
    """Yield the place in `lines`, the text and the raw text of each line that was broken there."""
    counts: Counter[int] | None = None
    at, last = 0, len(lines) - 1
    while at < last:
        if lines[at].width < _NARROWEST and lines[at].room < 0:
            at += 1
            continue
        counts = counts or Counter(line.width for line in lines)
        end, text = _follow(lines, counts, at)
        if end > at:
            yield at, text, "".join(line.raw for line in lines[at : end + 1])
        at = end + 1


def _follow(lines: Sequence[Shown], counts: Counter[int], at: int) -> tuple[int, str]:
    """Return the last line that belongs to the one at `at`, and all of them as one text."""
    text, end = lines[at].text, at
    while end + 1 < len(lines) and end - at < _MOST_LINES and len(text) < _MOST_CHARACTERS:
        between = _joint(lines, counts, end)
        if between is None:
            break
        end += 1
        text += between + lines[end].text
    return end, text


def _joint(lines: Sequence[Shown], counts: Counter[int], at: int) -> str | None:
    """Return what stands between a line and its rest, None where the next one is not its rest."""
    line, following = lines[at], lines[at + 1]
    if not line.text or not following.text or _NEW.match(following.text):
        return None
    if line.room >= 0 or following.room >= 0:
        return _boxed_joint(line, following)
    if line.text[:4] == following.text[:4] or line.text.endswith(_ENDS):
        return None
    widest = max(other.width for other in lines[max(at - _AROUND, 0) : at + _AROUND + 1])
    if widest not in _WIDTHS and counts[widest] < _OFTEN and widest + 1 in _WIDTHS:
        widest += 1
    elif not (widest in _WIDTHS or counts[widest] >= _OFTEN or _GOES_ON.match(following.text)):
        return None
    missing = widest - line.width
    if missing == 0:
        return " " if line.raw.endswith(" ") else ""
    return " " if missing == 1 else None  # the blank at the edge is not copied


def _boxed_joint(line: Shown, following: Shown) -> str | None:
    if line.room < 0 or following.room < 0:
        return None
    word = following.text.lstrip().partition(" ")[0]
    if len(word) < line.room:  # it would have fitted
        return None
    cut = line.room == 0 and len(line.text.rpartition(" ")[2]) >= _LONG_WORD
    return "" if cut else " "
