from __future__ import annotations

from typing import Any


def test_a_pin_from_the_metadata_counts_for_any_patch(ask: Any) -> None:
    facts = {
        "vllm.version": "0.25.0",
        "vllm.flashinfer_pin": "==0.6.12",
        "flashinfer.version": "0.6.13",
    }
    judgement = ask("flashinfer-pin-mismatch", facts)
    assert judgement.values == {"advice.flashinfer": "==0.6.12"}
