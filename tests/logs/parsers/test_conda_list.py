from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.conda_list import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("pytorch   2.1.0   py3.10_cuda12.1_cudnn8.9.2_0    pytorch",
         {"torch.version": "2.1.0", "torch.cuda": "12.1"}),
        ("pytorch   1.6.0   py3.7_cuda10.1.243_cudnn7.6.3_0    pytorch",
         {"torch.version": "1.6.0", "torch.cuda": "10.1"}),
        ("pytorch   2.6.0   cuda126_mkl_py312_he3f0d9b_301    conda-forge",
         {"torch.version": "2.6.0", "torch.cuda": "12.6", "torch.cxx11_abi": True}),
        ("pytorch   2.5.1   cpu_generic_py311_h2b1dd32_9  conda-forge",
         {"torch.version": "2.5.1", "torch.cuda": None, "torch.build": "cpu",
          "torch.cxx11_abi": True}),
        ("pytorch   2.2.2   py3.12_cpu_0    pytorch",
         {"torch.version": "2.2.2", "torch.cuda": None, "torch.build": "cpu"}),
        ("pytorch   2.4.0   gpu_cuda118py311h0dd2fd4_101",
         {"torch.version": "2.4.0", "torch.cuda": "11.8"}),
        ("torch   2.6.0+cu124   pypi_0    pypi", {"torch.version": "2.6.0+cu124"}),
        ("pytorch-cuda   12.1   ha16c6d3_5    pytorch", {"torch.cuda": "12.1"}),
        ("cuda-nvcc   12.4.131   0    nvidia", {"toolkit.version": "12.4.131"}),
        ("pytorch-mutex   1.0   cuda    pytorch", {}),
        ("nvidia-cudnn-cu12   9.1.0.70   pypi_0    pypi", {"torch.cudnn": "9.1.0.70"}),
        ("pytorch   could   not   be   found", {}),
    ],
)  # fmt: skip
def test_a_row_without_its_head(row: str, expected: dict[str, Any], stated: Stated) -> None:
    assert stated(PARSER, row) == expected


def test_two_cudnn_say_nothing(stated: Stated) -> None:
    rows = "nvidia-cudnn-cu11  8.9.6.50  pypi_0  pypi\nnvidia-cudnn-cu12  9.1.0.70  pypi_0  pypi"
    assert stated(PARSER, rows) == {}


def test_a_list_ends_with_other_text(stated: Stated) -> None:
    text = "# packages in environment at /opt:\n#\na\nb\nc\nd\nvllm 0.6.3 fails here"
    assert stated(PARSER, text) == {"python.environment": "conda"}
