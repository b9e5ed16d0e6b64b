"""What holds for every parser: the facts of captured outputs, and that any text is survived.

The facts stand in tests/data/pastes/PARSER.json, by the file of the output: path to line, trust
and value. Pieces of what the tools print stand in
tests/data/parser_fragments.json.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs import parsers
from flashdoctor.logs.parser import Parser, load_parsers

PASTES = Path(__file__).parents[2] / "data" / "pastes"
FRAGMENTS: dict[str, list[str]] = json.loads(
    (PASTES.parent / "parser_fragments.json").read_text("utf-8")
)
EXPECTED: dict[str, dict[str, Any]] = {
    file.stem: json.loads(file.read_text("utf-8")) for file in sorted(PASTES.glob("*.json"))
}


@cache
def parser_of(name: str) -> Parser:
    found: Parser = import_module(f"{parsers.__name__}.{name}").PARSER
    return found


def test_every_parser_has_fragments() -> None:
    assert {id(parser_of(name)) for name in FRAGMENTS} == {id(one) for one in load_parsers()}
    assert EXPECTED.keys() <= FRAGMENTS.keys()


@pytest.mark.parametrize(
    ("name", "paste"), [(name, paste) for name in EXPECTED for paste in EXPECTED[name]]
)
def test_a_captured_output_gives_exactly_these_facts(
    name: str, paste: str, entries: Callable[[Parser, str], dict[str, list[Any]]]
) -> None:
    text = (PASTES / paste).read_text(encoding="utf-8")
    assert entries(parser_of(name), text) == EXPECTED[name][paste]


@pytest.mark.parametrize("name", FRAGMENTS)
@given(data=st.data())
def test_any_text_is_survived(
    name: str, data: st.DataObject, survive: Callable[[Parser, list[str]], None]
) -> None:
    pieces = st.lists(st.sampled_from(FRAGMENTS[name]) | st.text(max_size=12))
    survive(parser_of(name), data.draw(st.lists(pieces.map("".join))))
