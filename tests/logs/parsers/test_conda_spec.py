from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.conda_spec import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("python=3.12", {"python.version": [1, 1, "3.12"]}),
        ("  - pytorch-cuda=12.1", {"torch.cuda": [1, 1, "12.1"]}),
        ("pytorch=2.5.1=py3.9_cuda12.1_cudnn9_0",
         {"torch.version": [1, 2, "2.5.1"], "torch.cuda": [1, 2, "12.1"]}),
        ("  - vllm=0.6.*", {"vllm.version": [1, 1, "0.6"]}),
        ("  pytorch   pytorch/linux-64::pytorch-2.4.1-py3.11_cuda12.1_cudnn9.1.0_0",
         {"torch.version": [1, 1, "2.4.1"], "torch.cuda": [1, 1, "12.1"]}),
        ("torch==2.5.1", {}),
        ("PYTHON=/usr/bin/python=3", {}),
        ("python=3.12 and some words", {}),
    ],
)  # fmt: skip
def test_a_specification(line: str, expected: dict[str, list[Any]], entries: Entries) -> None:
    assert entries(PARSER, line) == expected
