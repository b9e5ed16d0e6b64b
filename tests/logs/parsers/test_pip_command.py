from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.pip_command import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$ pip install torch==2.5", {"torch.version": "2.5"}),
        ("!pip install -U vllm==0.6.3.post1 transformers", {"vllm.version": "0.6.3.post1"}),
        ("pip install 'flash-attn==2.8.3+cu130torch2.10'",
         {"flash_attn.version": "2.8.3", "flash_attn.wheel.cuda": "13.0",
          "flash_attn.wheel.torch": "2.10"}),
        ("pip install vllm[audio]==0.8.5", {"vllm.version": "0.8.5"}),
        ("pip install torch --index-url https://download.pytorch.org/whl/cu118",
         {"torch.cuda": "11.8"}),
        ("pip install torch torchvision -i https://download.pytorch.org/whl/nightly/cu128",
         {"torch.cuda": "12.8"}),
        ("pip install torch --index-url https://download.pytorch.org/whl/cpu",
         {"torch.cuda": None, "torch.build": "cpu"}),
        ("pip install torch --index-url https://download.pytorch.org/whl/rocm6.2",
         {"torch.cuda": None, "torch.build": "rocm"}),
        ("pip install torch --extra-index-url https://download.pytorch.org/whl/cu118", {}),
        ("pip install flash-attn --index-url https://download.pytorch.org/whl/cu118", {}),
        ("uv pip install vllm --torch-backend=cu128", {"torch.cuda": "12.8"}),
        ("pip install 'torch>=2.4,<2.6' \"transformers~=4.45\"", {}),
        ("pip install torch==2.4.* torchvision", {"torch.version": "2.4"}),
        ("pip install torch==${TORCH}", {}),
        ("poetry add vllm@0.6.3", {"vllm.version": "0.6.3"}),
        ("conda create -n x python=3.10 -y && conda activate x", {"python.version": "3.10"}),
        ("conda install pytorch==2.1.0 torchvision pytorch-cuda=12.1 -c pytorch -c nvidia",
         {"torch.version": "2.1.0", "torch.cuda": "12.1"}),
        ("I could not pip install it", {}),
    ],
)  # fmt: skip
def test_a_command(text: str, expected: dict[str, Any], entries: Entries) -> None:
    found = entries(PARSER, text)
    assert {path: entry[2] for path, entry in found.items()} == expected
    assert {entry[1] for entry in found.values()} <= {1}


def test_a_command_goes_on_behind_a_backslash(entries: Entries) -> None:
    text = (
        "RUN pip install torch==2.5.1 \\\n    vllm==0.6.4 \\\n && echo xformers==0.0.28\nray==2.9"
    )
    assert entries(PARSER, text) == {
        "torch.version": [1, 1, "2.5.1"],
        "vllm.version": [2, 1, "0.6.4"],
    }


def test_several_commands_in_one_line(stated: Stated) -> None:
    text = "RUN pip install torch==2.5.1 && pip3 install vllm==0.6.4; conda install python=3.11"
    assert stated(PARSER, text) == {
        "torch.version": "2.5.1",
        "vllm.version": "0.6.4",
        "python.version": "3.11",
    }
