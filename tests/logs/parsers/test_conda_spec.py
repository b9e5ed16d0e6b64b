from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.conda_spec import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads((PASTES / "conda_spec.json").read_text(encoding="utf-8"))
FRAGMENTS = (
    "  - python=3.10",
    "pytorch=2.5.1=py3.9_cuda12.1_cudnn9_0",
    "conda-forge::",
    "python=",
    "=",
    "==",
    "3.12",
    "- ",
    "torch==2.4",
    "h1_0",
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
        ("python=3.12", {"python.version": [1, 1, "3.12"]}),
        ("  - pytorch-cuda=12.1", {"torch.cuda": [1, 1, "12.1"]}),
        ("pytorch=2.5.1=py3.9_cuda12.1_cudnn9_0",
         {"torch.version": [1, 2, "2.5.1"], "torch.cuda": [1, 2, "12.1"]}),
        ("  - vllm=0.6.*", {"vllm.version": [1, 1, "0.6"]}),
        ("  pytorch   pytorch/linux-64::pytorch-2.4.1-py3.11_cuda12.1_cudnn9.1.0_0",
         {"torch.version": [1, 1, "2.4.1"], "torch.cuda": [1, 1, "12.1"]}),
        ("torch==2.5.1", {}),
        ("PYTHON=/usr/bin/python=3", {}),
        ("python=3.12 and some words", {}),
    ],
)  # fmt: skip
def test_a_specification(line: str, expected: dict[str, list[Any]], entries: Entries) -> None:
    assert entries(PARSER, line) == expected
