from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.other_reports import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads((PASTES / "other_reports.json").read_text(encoding="utf-8"))
FRAGMENTS = (
    "CUDA available: True",
    "GPU 0,1: NVIDIA H100",
    "GPU 0 Compute Capability: 9.0",
    "CUDA_HOME: ",
    "NVCC: Cuda compilation tools, release 12.4, V12.4.131",
    "PyTorch: ",
    "pytorch.version:   ",
    "torch version ............. ",
    "nvcc version ............. ",
    "2.4.0",
    "None",
    " ",
    "available",
)
LINES = st.lists(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=12)).map("".join))


@pytest.mark.parametrize("name", EXPECTED)
def test_a_captured_output_gives_exactly_these_facts(name: str, entries: Entries) -> None:
    text = (PASTES / name).read_text(encoding="utf-8")
    assert entries(PARSER, text) == EXPECTED[name]


@given(LINES)
def test_any_text_is_survived(
    survive: Callable[[Parser, list[str]], None], lines: list[str]
) -> None:
    survive(PARSER, lines)


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
