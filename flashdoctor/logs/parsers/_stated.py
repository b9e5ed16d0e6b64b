"""Facts out of pieces of text: read as the kind of the fact, bound to their line. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flashdoctor.logs.statements import STATED
from flashdoctor.logs.values import read_value
from flashdoctor.model.facts import Fact, known
from flashdoctor.model.log import Found, Line

_VERSION = re.compile(r"v?\d[\w.!+~-]{0,62}(?<=\w)")


def is_version(text: str) -> bool:
    """Whether a text can be the version of a package: it starts with a number, and is short."""
    return _VERSION.fullmatch(text) is not None


def state(path: str, text: str, source: str) -> Iterator[Fact]:
    """Yield the fact that a text gives; nothing where it does not read as the fact's kind."""
    try:
        value = read_value(path, text)
    except (ValueError, OverflowError):
        return
    yield known(path, value, source)


def on(line: Line, facts: Iterable[Fact], trust: int = STATED) -> Iterator[Found]:
    """Bind facts to the line that gives them."""
    for fact in facts:
        yield Found(fact=fact, line=line.number, trust=trust)
