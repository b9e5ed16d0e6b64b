"""What makes a regular expression slow on hostile text, found in its syntax tree."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

MAX_REPEAT = 400
"""From this many times on a repeat counts as unbounded."""

_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})


def slow_parts(pattern: str) -> Iterator[str]:
    """Yield what in a valid pattern can cost more than linear time.

    That is a repeat without end inside another one, and any character repeated without end: a
    line may hold thousands of characters, and the search starts at each of them.
    """
    parser = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
    yield from dict.fromkeys(_walk(parser.parse(pattern), inside=False))


def _walk(items: Iterable[Any], *, inside: bool) -> Iterator[str]:
    for operator, argument in items:
        name = str(operator)
        if name in _REPEATS:
            _, most, inner = argument
            endless = int(most) >= MAX_REPEAT
            if endless and inside:
                yield "a repeat without end inside another"
            if endless and any(str(part[0]) == "ANY" for part in inner):
                yield f"any character without end: write .{{0,{MAX_REPEAT // 2}}}"
            yield from _walk(inner, inside=inside or endless)
        else:
            for part in _children(argument):
                yield from _walk(part, inside=inside)


def _children(argument: Any) -> Iterator[Iterable[Any]]:
    """Find the sub-patterns in the argument of a group, a branch or a look-around."""
    for part in argument if isinstance(argument, (tuple, list)) else ():
        if hasattr(part, "getwidth"):
            yield part
        elif isinstance(part, list):
            yield from _children(part)
