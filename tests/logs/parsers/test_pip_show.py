from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.pip_show import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads((PASTES / "pip_show.json").read_text(encoding="utf-8"))
FRAGMENTS = (
    "Name: torch",
    "Version: 2.6.0",
    "Name: ",
    "Version: ",
    "Package(s) not found: ",
    "vllm",
    ", ",
)
LINES = st.lists(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=12)).map("".join))


@pytest.mark.parametrize("name", EXPECTED)
def test_a_captured_output_gives_exactly_these_facts(name: str, entries: Entries) -> None:
    text = (PASTES / name).read_text(encoding="utf-8")
    assert entries(PARSER, text) == EXPECTED[name]


@given(LINES)
def test_any_text_is_survived(
    survive: Callable[[Parser, list[str]], None], lines: list[str]
) -> None:
    survive(PARSER, lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Name: torch\nVersion: 2.6.0+cu124", {"torch.version": "2.6.0+cu124"}),
        ("Name: torch\nSummary: x\nVersion: 2.6.0", {}),
        ("Version: 2.6.0", {}),
        ("Name: requests\nVersion: 2.32.0", {}),
        ("WARNING: Package(s) not found: flash-attn", {"flash_attn.version": None}),
    ],
)
def test_a_package(text: str, expected: dict[str, Any], stated: Stated) -> None:
    assert stated(PARSER, text) == expected
