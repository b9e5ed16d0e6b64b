from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.view import MissingFactError

CHECK = "triton-ptxas-arch-unknown"


@pytest.mark.parametrize(
    ("capability", "last_bad", "first_good"),
    [
        ("10.0", "3.2.0", "3.3.0"),
        ("12.0", "3.2.0", "3.3.0"),
        ("10.3", "3.5.1", "3.6.0"),
        ("12.1", "3.5.1", "3.6.0"),
        ("11.0", "3.6.0", "3.7.0"),
    ],
)
def test_each_gpu_has_a_first_triton(
    ask: Any, capability: str, last_bad: str, first_good: str
) -> None:
    gpu = {"gpu.compute_capability": capability}
    bad = ask(CHECK, {**gpu, "triton.version": last_bad})
    assert bad.outcome == "fail"
    assert bad.values["advice.triton"] == first_good.removesuffix(".0")
    assert ask(CHECK, {**gpu, "triton.version": first_good}).outcome == "pass"


def test_the_pin_of_torch_stands_in_for_triton(ask: Any) -> None:
    facts = {"gpu.name": "NVIDIA GB10", "torch.version": "2.9.1+cu130"}
    judgement = ask(CHECK, facts)
    assert "torch.triton_pin" in judgement.evidence
    assert judgement.detail == (
        "The ptxas in Triton 3.5.1 does not know NVIDIA GB10 (12.1), Triton 3.6 does."
    )


def test_without_triton_nothing_is_assembled(ask: Any) -> None:
    with pytest.raises(MissingFactError):
        ask(CHECK, {"gpu.name": "NVIDIA GB10", "triton.version": None})
