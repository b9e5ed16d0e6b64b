from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.sglang_log import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]


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
