from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.nvcc import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]


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
