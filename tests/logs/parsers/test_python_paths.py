from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.python_paths import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ('  File "/opt/venv/lib/python3.10/site-packages/vllm/engine.py", line 1', "3.10"),
        ("/x/flash_attn_2_cuda.cpython-39-x86_64-linux-gnu.so: undefined symbol: _ZN3c10", "3.9"),
        (r"C:\Python311\Lib\site-packages\torch\__init__.py", "3.11"),
        (r"flash_attn_2_cuda.cp312-win_amd64.pyd", "3.12"),
        ("/usr/lib/python3/dist-packages/x.py", None),
        ("vllm/_C.abi3.so", None),
    ],
)
def test_a_path(line: str, version: str | None, stated: Stated) -> None:
    assert stated(PARSER, line).get("python.version") == version


@pytest.mark.parametrize(
    ("line", "platform"),
    [
        ("x.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c10", "linux_x86_64"),
        ("/x/flash_attn_2_cuda.cpython-312-aarch64-linux-gnu.so", "linux_aarch64"),
        (r"flash_attn_2_cuda.cp312-win_amd64.pyd", "win_amd64"),
        ('  File "/opt/venv/lib/python3.10/site-packages/vllm/engine.py", line 1', None),
        ("x.cpython-310-x86_64-linux-musl.so", None),
        ("x.cpython-310-darwin.so", None),
    ],
)
def test_the_platform_of_a_module(line: str, platform: str | None, stated: Stated) -> None:
    assert stated(PARSER, line).get("os.platform") == platform


def test_a_later_path_tells_what_the_first_did_not(stated: Stated) -> None:
    text = "/a/python3.9/site-packages/x\n/b/y.cpython-312-x86_64-linux-gnu.so"
    assert stated(PARSER, text) == {"python.version": "3.9", "os.platform": "linux_x86_64"}


def test_the_first_path_counts(entries: Entries) -> None:
    text = "/a/python3.9/site-packages/x\n/b/python3.12/site-packages/y"
    assert entries(PARSER, text) == {"python.version": [1, 1, "3.9"]}
