from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.transformers_env import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("- Accelerate version: not installed", {"accelerate.version": None}),
        ("- PyTorch version (GPU?): not installed (NA)", {}),
        ("- PyTorch version (accelerator?): 2.8.0+xpu (XPU)",
         {"torch.version": "2.8.0+xpu", "live.torch_version": "2.8.0+xpu", "live.status": "ok"}),
        ("- PyTorch version (GPU?): 2.9.1+cpu (False)",
         {"torch.version": "2.9.1+cpu", "live.torch_version": "2.9.1+cpu", "live.status": "ok",
          "live.cuda_available": False}),
        ("- Torch: N/A", {}),
        ("- Using GPU in script?: <fill in>", {}),
        ("- GPU type: see below", {}),
        ("- vLLM version: 0.8.3", {"vllm.version": "0.8.3"}),
        ("- Tensorflow version (GPU?): not installed (NA)", {}),
        ("- this is no label at all", {}),
    ],
)  # fmt: skip
def test_a_bullet(line: str, expected: dict[str, Any], stated: Stated) -> None:
    assert stated(PARSER, line) == expected
