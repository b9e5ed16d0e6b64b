from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.lscpu import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]


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
