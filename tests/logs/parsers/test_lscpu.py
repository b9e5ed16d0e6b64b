from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.lscpu import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads((PASTES / "lscpu.json").read_text(encoding="utf-8"))
FRAGMENTS = (
    "Architecture:  ",
    "Architektur:   ",
    "\u67b6\u6784\uff1a   ",
    "x86_64",
    "aarch64",
    "CPU(s):   ",
    "CPU:   ",
    "64",
    " ",
    "9" * 4,
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
    ("line", "expected"),
    [
        ("Architecture :                       x86_64", {"os.platform": "linux_x86_64"}),
        ("\uc544\ud0a4\ud14d\ucc98:                       x86_64", {"os.platform": "linux_x86_64"}),
        ("Arquitectura:    aarch64", {"os.platform": "linux_aarch64"}),
        ("Architecture: 9", {}),
        ("CPU(s):              208", {"os.cpu_count": 208}),
        ("On-line CPU(s) list: 0-207", {}),
        ("Name: x86_64 CPU", {}),
    ],
)
def test_a_label_in_any_language(line: str, expected: dict[str, Any], stated: Stated) -> None:
    assert stated(PARSER, line) == expected
