from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.system_tools import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("6.8.0-45-generic", {"os.kernel": "6.8.0-45-generic", "os.system": "Linux"}),
        ("4.4.0-19041-Microsoft",
         {"os.kernel": "4.4.0-19041-Microsoft", "os.system": "Linux", "wsl.version": 1}),
        ("4.18.0-553.22.1.el8_10.x86_64",
         {"os.kernel": "4.18.0-553.22.1.el8_10.x86_64", "os.system": "Linux"}),
        ("aarch64", {"os.platform": "linux_aarch64"}),
        ("Description:    Ubuntu 24.04.1 LTS", {"os.distribution": "Ubuntu 24.04.1 LTS"}),
        ("CentOS Linux release 7.9.2009 (Core)",
         {"os.distribution": "CentOS Linux release 7.9.2009"}),
        ("ldd (GNU libc) 2.31", {"os.glibc": "2.31"}),
        ("GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.", {"os.glibc": "2.36"}),
        ("Ubuntu clang version 14.0.0-1ubuntu1.1",
         {"os.compiler": "clang 14.0.0", "os.compiler_version": "14.0.0"}),
        ("Python 3.11", {"python.version": "3.11"}),
        ("tmpfs            63G  1.2M   63G   1% /dev/shm", {"os.shm_mib": 64512}),
        ("WSL version: 2.0.9.0", {"wsl.version": 2}),
        ("* Ubuntu-22.04    Running         2", {"wsl.version": 2}),
        ("Python 3.10 is required", {}),
        ("GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)", {}),
        ("Description: a tool for Linux", {}),
        ("pod-1 Running 2", {}),
        ("released for x86_64 and aarch64", {}),
    ],
)  # fmt: skip
def test_one_line(line: str, expected: dict[str, Any], stated: Stated) -> None:
    assert stated(PARSER, line) == expected


def test_a_bare_version_is_less_certain_than_the_interpreters_banner(entries: Entries) -> None:
    banner = "Python 3.10.12 (main, Nov 20 2023, 15:14:05) [GCC 11.4.0] on linux"
    assert entries(PARSER, "Python 3.9")["python.version"] == [1, 2, "3.9"]
    assert entries(PARSER, banner)["python.version"] == [1, 3, "3.10.12"]
