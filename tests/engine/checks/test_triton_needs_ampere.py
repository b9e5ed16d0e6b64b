from __future__ import annotations

from typing import Any


def test_the_triton_that_is_there_decides(ask: Any) -> None:
    facts = {"gpu.name": "Tesla T4", "vllm.version": "0.6.3", "torch.version": "2.4.0+cu121"}
    judgement = ask("triton-needs-ampere", facts)
    assert judgement.detail.startswith("Triton 3.0.0 on Tesla T4 (7.5) aborts")
    newer = {**facts, "triton.version": "3.1.0"}
    assert ask("triton-needs-ampere", newer).outcome == "pass"
