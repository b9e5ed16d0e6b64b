from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.transformers_log import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]


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
