from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.other_reports import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vllm: Module Not Found", {}),
        ("CUDA_HOME: None", {}),
        ("pytorch.cuda:      not available", {"live.cuda_available": False, "live.status": "ok"}),
        ("torch version .................... ['2.1.0']",
         {"torch.version": "2.1.0", "live.torch_version": "2.1.0", "live.status": "ok"}),
        ("torch cuda version ............... None", {"torch.cuda": None}),
        ("nvcc version .....................  [FAIL] cannot find CUDA_HOME", {}),
        ("GPU 0: NVIDIA H100 80GB HBM3", {}),
        ("CUDA available: True\nGPU 0: NVIDIA H200",
         {"live.cuda_available": True, "live.status": "ok", "gpu.name": "NVIDIA H200"}),
        ("Name: numpy: 1.2", {}),
    ],
)  # fmt: skip
def test_single_lines(text: str, expected: dict[str, Any], stated: Stated) -> None:
    assert stated(PARSER, text) == expected
