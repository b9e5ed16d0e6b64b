from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.tgi_log import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]


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
