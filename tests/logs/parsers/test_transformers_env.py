from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.transformers_env import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads(
    (PASTES / "transformers_env.json").read_text(encoding="utf-8")
)
FRAGMENTS = (
    "- `transformers` version: ",
    "- Platform: Linux-",
    "- Python version: ",
    "* PyTorch version (GPU?): ",
    "2.5.1+cu121 (True)",
    "- GPU type: ",
    "NVIDIA H200",
    "not installed",
    "- Accelerator: ",
    ", 24564 MiB",
    "- Torch: ",
    "- PEFT version: ",
    "(NA)",
    "`",
    "\U0001f917 ",
    "- System RAM: 31.37 GB",
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
