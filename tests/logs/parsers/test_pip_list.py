from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.pip_list import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads((PASTES / "pip_list.json").read_text(encoding="utf-8"))
FRAGMENTS = (
    "Package      Version",
    "------- -----",
    "torch   2.8.0",
    "flash_attn 2.8.3",
    "\t",
    "| ",
    " |",
    '{"name": "torch", "version": "2.8.0"}',
    "/workspace",
    "  ",
    "vllm",
    "0.6",
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
        ("torch                     2.8.0", {"torch.version": "2.8.0"}),
        ("vllm\t0.6.3", {"vllm.version": "0.6.3"}),
        ("vllm    0.6.3.dev1+g0    /src/vllm", {"vllm.version": "0.6.3.dev1+g0"}),
        ("torch    2.6.0+cu124    C:\\env\\site-packages pip", {"torch.version": "2.6.0+cu124"}),
        ("| torch | 2.8.0 |", {}),
        ("torch  2.8.0  is what I have", {}),
        ("transformers  [OK]", {}),
        ("Package Version\n--- ---\nray 2.9.0\ntorch 2.4.0+cu121",
         {"ray.version": "2.9.0", "torch.version": "2.4.0+cu121"}),
        ("| Package | Version |\n| --- | --- |\n| torch | 2.8.0 |", {"torch.version": "2.8.0"}),
        ("Package   Version  Latest Type\n---- --- --- ---\ntorch   2.4.0   2.5.1   wheel",
         {"torch.version": "2.4.0"}),
        ('[{"name": "torch", "version": "2.8.0"}, {"name": "vllm", "version": "0.11.0"}]',
         {"torch.version": "2.8.0", "vllm.version": "0.11.0"}),
        ("Package Version\n\nnot a package\nnor this\nray 2.9.0", {}),
    ],
)  # fmt: skip
def test_rows(text: str, expected: dict[str, Any], stated: Stated) -> None:
    assert stated(PARSER, text) == expected


def test_cudnn_of_two_cuda_majors_says_nothing(stated: Stated) -> None:
    text = "Package Version\n--- ---\nnvidia-cudnn-cu12 9.1.0.70\nnvidia-cudnn-cu13 9.13.0.50"
    assert stated(PARSER, text) == {}
