from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.pip_freeze import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torch==2.5.1", {"torch.version": [1, 2, "2.5.1"]}),
        ("- torch==2.5.1", {"torch.version": [1, 2, "2.5.1"]}),
        ("torch == 2.5.1", {"torch.version": [1, 2, "2.5.1"]}),
        ("torch==2.5.1, flash-attn==2.7.0.post2 and vllm==0.6.4",
         {"torch.version": [1, 2, "2.5.1"], "flash_attn.version": [1, 2, "2.7.0.post2"],
          "vllm.version": [1, 2, "0.6.4"]}),
        ("flash-attn==2.7.4.post1+cu12torch2.6cxx11abifalse",
         {"flash_attn.version": [1, 2, "2.7.4.post1"], "flash_attn.wheel.cuda": [1, 2, "12"],
          "flash_attn.wheel.torch": [1, 2, "2.6"], "flash_attn.wheel.cxx11_abi": [1, 2, False]}),
        ("flash-attn==3.0.0b1", {"flash_attn_3.version": [1, 2, "3.0.0b1"]}),
        ('torch==2.5.1 ; sys_platform == "linux"', {"torch.version": [1, 1, "2.5.1"]}),
        ('    "torch==2.5.1",', {"torch.version": [1, 1, "2.5.1"]}),
        ("torch==2.5.1 \\", {"torch.version": [1, 1, "2.5.1"]}),
        ("torch==2.5.1  # via vllm", {"torch.version": [1, 2, "2.5.1"]}),
        (("torch @ https://download.pytorch.org/whl/cu124/torch-2.6.0%2Bcu124-cp310-cp310-"
         "linux_x86_64.whl"), {"torch.version": [1, 2, "2.6.0+cu124"]}),
        ("flash_attn @ file:///tmp/flash_attn-2.5.9.post1-cp310-cp310-linux_x86_64.whl",
         {"flash_attn.version": [1, 2, "2.5.9.post1"],
          "flash_attn.wheel.file": [1, 2, "flash_attn-2.5.9.post1-cp310-cp310-linux_x86_64.whl"]}),
        ("vllm @ git+https://github.com/vllm-project/vllm.git@0123abc", {}),
        ("-e git+https://github.com/x/vllm.git@0123abc#egg=vllm", {}),
        (" - vllm==0.10.2", {}),
        ("torch==2.4 does not work with the new driver", {}),
        ("vllm 0.6.3 requires torch==2.4.0, but you have torch 2.5.1", {}),
        ("if head_size == 256:", {}),
        ("torch==", {}),
        ("torch==v", {}),
        ("==============", {}),
    ],
)  # fmt: skip
def test_a_line(line: str, expected: dict[str, list[Any]], entries: Entries) -> None:
    assert entries(PARSER, line) == expected


def test_pins_of_a_requirements_file_are_mentions(entries: Entries) -> None:
    text = "$ cat requirements.txt\n# comment\ntorch==2.4.0\nvllm==0.6.0\n\nSome words\nray==2.9.0"
    found = entries(PARSER, text)
    assert found == {
        "torch.version": [3, 1, "2.4.0"],
        "vllm.version": [4, 1, "0.6.0"],
        "ray.version": [7, 2, "2.9.0"],
    }
