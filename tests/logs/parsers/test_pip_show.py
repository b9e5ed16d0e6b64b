from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.pip_show import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]


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
