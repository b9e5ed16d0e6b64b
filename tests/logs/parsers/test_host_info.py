from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.host_info import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads((PASTES / "host_info.json").read_text(encoding="utf-8"))
FRAGMENTS = (
    " Runtimes: ",
    "Default Runtime: ",
    "Kernel Version: 5.15.0",
    "Operating System: ",
    "Architecture: x86_64",
    "nvidia",
    "runc",
    " ",
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
        (" Operating System: Docker Desktop", {}),
        ("          Kernel: Linux 6.8.0-45-generic",
         {"os.kernel": "6.8.0-45-generic", "os.system": "Linux"}),
        ("  Architecture: x86-64", {"os.platform": "linux_x86_64"}),
        (" Architecture: riscv64", {}),
        (" Default Runtime: nvidia", {"launch.default_runtime": "nvidia"}),
        ("Runtimes: are (what) they are", {}),
    ],
)  # fmt: skip
def test_one_line(line: str, expected: dict[str, Any], stated: Stated) -> None:
    assert stated(PARSER, line) == expected
