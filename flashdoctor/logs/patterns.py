"""Patterns of signatures on single lines; what a long line costs stays bounded. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from flashdoctor.model.log import Signature

LONG_LINE = 1024
"""Characters up to which a line is searched as a whole; messages are short, and what a pattern
costs can grow with the square of the length. A longer one is searched around the keywords."""

_BEFORE_KEYWORD = 512
_BEHIND_KEYWORD = 896
_NO_NUMBERS = re.compile(r"\{\d*,?\d*\}|\[[^\]]{0,60}\]")


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
    if len(text) <= LONG_LINE:
        return pattern.search(text) or False
    found = (pattern.search(text, *part) for part in _around(signature.keywords, text.lower()))
    return next((match for match in found if match), False)


@lru_cache(maxsize=4096)
def depends_on_digits(pattern: str) -> bool:
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
