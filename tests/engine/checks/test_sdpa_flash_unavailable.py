from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.sdpa_flash_unavailable import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


@pytest.mark.parametrize(
    ("gpu", "torch", "outcome"),
    [
        ("Tesla T4", "2.1.2", "pass"),
        ("Tesla T4", "2.2.0", "fail"),
        ("V100", "2.1.2", "fail"),
        ("A100", "2.2.0", "pass"),
        ("RTX 5090", "2.7.1+cu128", "pass"),
        ("NVIDIA GB10", "2.7.1+cu128", "fail"),
        ("NVIDIA GB10", "2.8.0", "pass"),
        ("NVIDIA B300 SXM6 AC", "2.7.1+cu128", "pass"),
    ],
)
def test_the_range_follows_the_release(look: Look, gpu: str, torch: str, outcome: str) -> None:
    assert judge(look({"gpu.name": gpu, "torch.version": torch})).outcome == outcome


def test_a_card_that_keeps_a_fused_kernel_needs_no_warning(look: Look) -> None:
    judgement = judge(look({"gpu.name": "Tesla T4", "torch.version": "2.5.1"}))
    assert judgement.severity is None
    assert "memory-efficient" in judgement.detail
    left = judge(look({"gpu.name": "NVIDIA GB10", "torch.version": "2.7.1+cu128"}))
    assert (left.severity, "math" in left.detail) == ("warning", True)


@pytest.mark.parametrize("torch", ["1.13.1", "2.9.1+cpu", "2.9.1+rocm6.4"])
def test_a_torch_without_it_is_no_verdict(look: Look, torch: str) -> None:
    with pytest.raises(MissingFactError):
        judge(look({"gpu.name": "A100", "torch.version": torch}))
