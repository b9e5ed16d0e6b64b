from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.uv import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]


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
