from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.tgi_log import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads((PASTES / "tgi_log.json").read_text(encoding="utf-8"))
FRAGMENTS = (
    'Args { model_id: "x/y", num_shard: Some(2) }',
    "Args { ",
    "quantize: Some(Awq)",
    "Using attention paged",
    "Setting max batch total tokens to 12",
    "text_generation_router: Connected",
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
        ("Using Attention = flashdecoding",
         {"engine.name": "tgi", "engine.attention_backend": "flashdecoding"}),
        ("Args { verbose: true }", {}),
        ("using attention is all you need", {}),
        ('{"message":"Args { model_id: \\"x/y\\", num_shard: Some(2), quantize: None }"}',
         {"engine.name": "tgi", "launch.program": "tgi", "model.name": "x/y",
          "launch.tensor_parallel_size": 2}),
    ],
)  # fmt: skip
def test_one_line(line: str, expected: dict[str, Any], stated: Stated) -> None:
    assert stated(PARSER, line) == expected
