from __future__ import annotations

from typing import Any


def test_ada_is_the_first_with_fp8(ask: Any) -> None:
    facts = {"vllm.version": "0.10.2"}
    for capability, outcome in (("8.6", "fail"), ("8.7", "fail"), ("8.9", "pass"), ("9.0", "pass")):
        stated = {**facts, "gpu.compute_capability": capability}
        assert ask("fp8-needs-sm89", stated).outcome == outcome
