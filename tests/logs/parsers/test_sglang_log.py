from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.sglang_log import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads((PASTES / "sglang_log.json").read_text(encoding="utf-8"))
FRAGMENTS = (
    "server_args=ServerArgs(model_path='x/y', tp_size=2)",
    "Attention backend not set. Use ",
    "flashinfer",
    " backend by default.",
    "KV Cache is allocated. #tokens: 12, K size: 1.0 GB, V size: 1.0 GB",
    "max_total_num_tokens=5, ",
    "Load weight end. type=X, dtype=torch.bfloat16, mem usage=1.5 GB.",
    "fired up and ready",
    " ",
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
        ("WARNING Attention backend not explicitly specified. Use fa3 backend by default.",
         {"engine.attention_backend": "fa3", "engine.name": "sglang"}),
        ("Multimodal attention backend not set. Use triton_attn.", {}),
        ("Virtual KV Cache is here", {}),
        ("server_args=ServerArgs(model_path='x/y', attention_backend='flashinfer', dtype='auto')",
         {"engine.name": "sglang", "launch.program": "sglang", "model.name": "x/y",
          "launch.attention_backend": "flashinfer"}),
    ],
)  # fmt: skip
def test_one_line(line: str, expected: dict[str, Any], stated: Stated) -> None:
    assert stated(PARSER, line) == expected
