from __future__ import annotations

import pytest

from flashdoctor.engine.asked import asked_for
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import known


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, set()),
        ({"launch.attn_implementation": "flash_attention_2"}, {"flash-attn"}),
        ({"launch.attn_implementation": "eager"}, set()),
        ({"launch.program": "vllm"}, {"vllm"}),
        ({"engine.name": "vllm", "launch.attn_implementation": "sdpa"}, {"vllm", "sdpa"}),
        ({"engine.name": "transformers", "launch.program": "python"}, {"transformers"}),
        ({"vllm.version": "0.9.0"}, set()),
    ],
)
def test_what_is_launched_is_asked_for(facts: dict[str, str], expected: set[str]) -> None:
    snapshot = snapshots.of(known(path, value, "x") for path, value in facts.items())
    assert asked_for(snapshot) == expected
