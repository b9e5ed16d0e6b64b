from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.pip_output import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Successfully installed flash-attn-2.7.4.post1 nvidia-nccl-cu12-2.21.5",
         {"flash_attn.version": [1, 2, "2.7.4.post1"]}),
        ("Requirement already satisfied: torch>=2.0,<3 in /a (from x) (2.1.2+cu118)",
         {"torch.version": [1, 2, "2.1.2+cu118"]}),
        ("Requirement already satisfied: torch in /usr/lib (from x)", {}),
        ("    Found existing installation: torch 2.5.1", {"torch.version": [1, 1, "2.5.1"]}),
        (" + vllm==0.11.0\n - vllm==0.10.2", {"vllm.version": [1, 2, "0.11.0"]}),
        (" + vllm==0.11.0 (from git+https://x/vllm)", {"vllm.version": [1, 2, "0.11.0"]}),
        ("+torch==2.6.0", {}),
        ("  - Installing accelerate (1.2.0)", {"accelerate.version": [1, 2, "1.2.0"]}),
        ("  \u2022 Updating peft (0.10.0 -> 0.12.0)", {"peft.version": [1, 2, "0.12.0"]}),
        ("vllm 0.6.3 has requirement torch==2.4.0, but you have torch 2.5.1.",
         {"vllm.version": [1, 2, "0.6.3"], "vllm.torch_pin": [1, 3, "==2.4.0"],
          "torch.version": [1, 2, "2.5.1"]}),
        (("vllm 0.9.1 requires transformers>=4.51.1, but you'll have transformers 4.50.0 which is"
         " incompatible."),
         {"vllm.version": [1, 2, "0.9.1"], "vllm.transformers_pin": [1, 3, ">=4.51.1"],
          "transformers.version": [1, 2, "4.50.0"]}),
        ("  Using cached flash_attn-2.7.3.tar.gz (3.2 MB)",
         {"flash_attn.version": [1, 1, "2.7.3"]}),
        ("  Using cached vllm-0.11.0-cp38-abi3-manylinux1_x86_64.whl.metadata (17 kB)",
         {"vllm.version": [1, 1, "0.11.0"]}),
        ("wheel: flash_attn-2.3.4+cu122torch2.1cxx11abiTRUE-cp39-cp39-linux_x86_64.whl",
         {"flash_attn.version": [1, 1, "2.3.4"], "flash_attn.wheel.file":
          [1, 1, "flash_attn-2.3.4+cu122torch2.1cxx11abiTRUE-cp39-cp39-linux_x86_64.whl"]}),
        (("  Created wheel for flash-attn: filename=flash_attn-2.7.3-cp312-cp312-linux_x86_64.whl"
         " size=190 sha256=00"),
         {"flash_attn.version": [1, 2, "2.7.3"],
          "flash_attn.wheel.file": [1, 2, "flash_attn-2.7.3-cp312-cp312-linux_x86_64.whl"]}),
        ("flash-attn 2.7.4.post1 requires torch, which is not installed.",
         {"flash_attn.version": [1, 2, "2.7.4.post1"], "torch.version": [1, 3, None]}),
        ("Collecting vllm==0.6.3 (from -r x)", {"vllm.version": [1, 1, "0.6.3"]}),
        ("Looking in indexes: https://download.pytorch.org/whl/cu118",
         {"torch.cuda": [1, 1, "11.8"]}),
        ("Looking in indexes: https://pypi.org/simple, https://download.pytorch.org/whl/cu118", {}),
        ("ERROR: Could not find a version that satisfies the requirement torch==2.9.9", {}),
    ],
)  # fmt: skip
def test_a_line(text: str, expected: dict[str, list[Any]], entries: Entries) -> None:
    assert entries(PARSER, text) == expected


def test_the_last_installation_counts(entries: Entries) -> None:
    text = "Successfully installed torch-2.5.1\nSuccessfully installed torch-2.6.0"
    assert entries(PARSER, text) == {"torch.version": [2, 2, "2.6.0"]}


def test_a_guessed_wheel_counts_until_it_is_not_found(stated: Stated) -> None:
    guess = (
        "Guessing wheel URL:  https://github.com/Dao-AILab/flash-attention/releases/download/"
        "v2.8.3/flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp313-cp313-linux_x86_64.whl"
    )
    assert stated(PARSER, guess)["flash_attn.version"] == "2.8.3"
    assert stated(PARSER, guess + "\nPrecompiled wheel not found. Building from source...") == {}
    assert stated(PARSER, guess + "\nerror: HTTP Error 404: Not Found") == {}
