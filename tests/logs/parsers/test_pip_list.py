from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.pip_list import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch                     2.8.0", {"torch.version": "2.8.0"}),
        ("vllm\t0.6.3", {"vllm.version": "0.6.3"}),
        ("vllm    0.6.3.dev1+g0    /src/vllm", {"vllm.version": "0.6.3.dev1+g0"}),
        ("torch    2.6.0+cu124    C:\\env\\site-packages pip", {"torch.version": "2.6.0+cu124"}),
        ("| torch | 2.8.0 |", {}),
        ("torch  2.8.0  is what I have", {}),
        ("transformers  [OK]", {}),
        ("Package Version\n--- ---\nray 2.9.0\ntorch 2.4.0+cu121",
         {"ray.version": "2.9.0", "torch.version": "2.4.0+cu121"}),
        ("| Package | Version |\n| --- | --- |\n| torch | 2.8.0 |", {"torch.version": "2.8.0"}),
        ("Package   Version  Latest Type\n---- --- --- ---\ntorch   2.4.0   2.5.1   wheel",
         {"torch.version": "2.4.0"}),
        ('[{"name": "torch", "version": "2.8.0"}, {"name": "vllm", "version": "0.11.0"}]',
         {"torch.version": "2.8.0", "vllm.version": "0.11.0"}),
        ("Package Version\n\nnot a package\nnor this\nray 2.9.0", {}),
    ],
)  # fmt: skip
def test_rows(text: str, expected: dict[str, Any], stated: Stated) -> None:
    assert stated(PARSER, text) == expected


def test_cudnn_of_two_cuda_majors_says_nothing(stated: Stated) -> None:
    text = "Package Version\n--- ---\nnvidia-cudnn-cu12 9.1.0.70\nnvidia-cudnn-cu13 9.13.0.50"
    assert stated(PARSER, text) == {}
