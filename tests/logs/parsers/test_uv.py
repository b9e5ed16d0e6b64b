from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.uv import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads((PASTES / "uv.json").read_text(encoding="utf-8"))
FRAGMENTS = (
    "\u251c\u2500\u2500 ",
    "torch v2.6.0",
    "vllm[audio] v0.6",
    'name = "torch"',
    'version = "2.7.1"',
    " v",
    " (extra: serve)",
    "\u2502   ",
    "[[package]]",
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
        ("\u2514\u2500\u2500 vllm v0.11.0", {"vllm.version": [1, 2, "0.11.0"]}),
        ("|-- torch v2.6.0+cu124 (*)", {"torch.version": [1, 2, "2.6.0+cu124"]}),
        (
            "\u251c\u2500\u2500 triton [required: ==3.2.0, installed: 3.2.0]",
            {"triton.version": [1, 2, "3.2.0"]},
        ),
        ("vllm v0.11.0 does not start", {}),
        ('name = "torch"\nversion = "2.6.0"', {"torch.version": [2, 1, "2.6.0"]}),
        ('name = "torch"\n\nversion = "2.6.0"', {}),
        ('name = "demo"\nversion = "0.1.0"', {}),
    ],
)
def test_a_package(text: str, expected: dict[str, list[Any]], entries: Entries) -> None:
    assert entries(PARSER, text) == expected
