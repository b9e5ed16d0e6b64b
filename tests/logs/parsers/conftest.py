"""What the parsers' tests share: one parser run over a text, and what it may say at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import pytest

from flashdoctor.logs.matcher import make_index
from flashdoctor.logs.parser import Parser
from flashdoctor.logs.scan import scan
from flashdoctor.model.catalog import FACTS
from flashdoctor.model.log import Line, Reading

Entries: TypeAlias = dict[str, list[Any]]

_TYPES: dict[str, type | tuple[type, ...]] = {
    "version": str,
    "capability": str,
    "bool": bool,
    "int": int,
    "float": float,
    "word": str,
    "text": str,
    "path": str,
    "versions": list,
    "capabilities": list,
    "targets": list,
    "texts": list,
    "paths": list,
    "records": list,
}


def run(parser: Parser, lines: Iterable[str]) -> Reading:
    numbered = [Line(number, text) for number, text in enumerate(lines, start=1)]
    reading = scan(numbered, index=make_index(()), parsers=[parser])
    assert reading.crashed == ()
    return reading


@pytest.fixture(scope="session")
def entries() -> Callable[[Parser, str], Entries]:
    """Return, by path, line, trust and value (None: absent) of what a parser reads in a text."""

    def read(parser: Parser, text: str) -> Entries:
        reading = run(parser, text.splitlines())
        return {
            fact.path: [
                reading.where[fact.path],
                reading.trust[fact.path],
                fact.value if fact.is_known else None,
            ]
            for fact in reading.snapshot
        }

    return read


@pytest.fixture(scope="session")
def stated() -> Callable[[Parser, str], dict[str, Any]]:
    """Return, by path, the value (None: absent or unknown) of what a parser reads in a text."""

    def read(parser: Parser, text: str) -> dict[str, Any]:
        return {fact.path: fact.value for fact in run(parser, text.splitlines()).snapshot}

    return read


@pytest.fixture(scope="session")
def survive() -> Callable[[Parser, list[str]], None]:
    """Check that any lines give well-formed facts, and that a feed can be fed and ended at will."""

    def check(parser: Parser, lines: list[str]) -> None:
        feed = parser.start()
        found = [
            item
            for number, text in enumerate(lines, start=1)
            for item in feed.feed(Line(number, text))
        ]
        for item in [*found, *feed.end()]:
            assert item.trust in {1, 2, 3}
            assert 1 <= item.line <= len(lines)
            assert item.fact.source
            if item.fact.is_known:
                assert isinstance(item.fact.value, _TYPES[FACTS[item.fact.path].kind])
        run(parser, lines)

    return check
