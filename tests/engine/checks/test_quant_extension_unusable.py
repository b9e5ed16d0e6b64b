from __future__ import annotations

from typing import Any

CHECK = "quant-extension-unusable"


def test_the_same_major_may_be_fallen_back_to(ask: Any) -> None:
    facts = {"bitsandbytes.cuda_binaries": ["11.8", "12.6"], "bitsandbytes.version": "0.50.2"}
    same = ask(CHECK, {**facts, "torch.version": "2.8.0+cu128"})
    assert (same.outcome, same.severity) == ("fail", "info")
    other = ask(CHECK, {**facts, "torch.version": "2.9.1+cu130"})
    assert (other.outcome, other.severity) == ("fail", None)
    assert other.detail == (
        "bitsandbytes has libraries for CUDA 11.8, 12.6, torch brings CUDA 13.0."
    )
