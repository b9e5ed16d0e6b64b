from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.nvcc import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads((PASTES / "nvcc.json").read_text(encoding="utf-8"))
FRAGMENTS = (
    "Cuda compilation tools, release ",
    "12.4, V12.4.131",
    "Build cuda_12.4.r12.4/compiler",
    "CUDA Version 10.2.89",
    "nvcc",
    ": command not found",
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
    ("line", "version"),
    [
        ("Cuda compilation tools, release 11.7", "11.7"),
        ("Cuda compilation tools, release 13.0, V13.0.48", "13.0"),
        ("Build cuda_11.5.r11.5/compiler.30672275_0", "11.5"),
        ("CUDA Version 10.2.89", "10.2"),
    ],
)
def test_a_version(line: str, version: str, entries: Entries) -> None:
    assert entries(PARSER, line) == {"toolkit.version": [1, 3, version]}


@pytest.mark.parametrize(
    "line",
    [
        "bash: nvcc: command not found",
        "/bin/sh: 1: nvcc: not found",
        "zsh: command not found: nvcc",
        "'nvcc' is not recognized as an internal or external command,",
        "Command 'nvcc' not found, but can be installed with:",
        "/usr/bin/which: no nvcc in (/usr/local/bin:/usr/bin)",
    ],
)
def test_a_shell_without_nvcc(line: str, entries: Entries) -> None:
    assert entries(PARSER, line) == {"toolkit.version": [1, 2, None]}


@pytest.mark.parametrize(
    "line",
    [
        "UserWarning: flash_attn was requested, but nvcc was not found.",
        "| NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: 11.4     |",
        "nvcc warning : incompatible redefinition for option 'compiler-bindir'",
    ],
)
def test_other_lines_state_nothing(line: str, stated: Stated) -> None:
    assert stated(PARSER, line) == {}
