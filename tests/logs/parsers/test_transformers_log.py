from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.transformers_log import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads(
    (PASTES / "transformers_log.json").read_text(encoding="utf-8")
)
FRAGMENTS = (
    "You are attempting to use Flash Attention 2.0",
    "FlashAttention2 has been toggled on",
    "Flash Attention 2 only supports torch.float16",
    " but the current dype in LlamaModel is torch.float32",
    "OPTForCausalLM does not support Flash Attention 2.0 yet",
    "config._attn_implementation",
    "'eager'",
    " ",
    "prints ",
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
    ("line", "path", "value"),
    [
        ("You are attempting to use Flash Attention 2 with a model not initialized on GPU.",
         "launch.attn_implementation", "flash_attention_2"),
        ("ImportError: FlashAttention2 has been toggled on, but it cannot be used",
         "launch.attn_implementation", "flash_attention_2"),
        ("OLMoForCausalLM does not support Flash Attention 2.0 yet. Please", "model.type",
         "OLMoForCausalLM"),
        (("PhiModel does not support an attention implementation through "
         "torch.nn.functional.scaled_dot_product_attention yet."), "launch.attn_implementation",
         "sdpa"),
        ("print(model.config._attn_implementation) -> 'sdpa'", "engine.attention_backend", None),
        ("model.config._attn_implementation is 'sdpa'", "engine.attention_backend", "sdpa"),
    ],
)  # fmt: skip
def test_one_message(line: str, path: str, value: object, stated: Stated) -> None:
    assert stated(PARSER, line).get(path) == value


def test_advice_states_nothing(stated: Stated) -> None:
    line = 'load your model with the argument `attn_implementation="eager"` meanwhile'
    assert stated(PARSER, line) == {}
