from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.host_info import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]


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
