from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.torch_triton_mismatch import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


@pytest.mark.parametrize(
    ("torch", "triton"),
    [("2.3.0", "2.3.0"), ("2.7.0", "3.3.0"), ("2.9.0", "3.5.0"), ("2.9.1", "3.5.1")],
)
def test_each_patch_release_has_its_own_pin(look: Look, torch: str, triton: str) -> None:
    assert judge(look({"torch.version": torch, "triton.version": triton})).outcome == "pass"


def test_a_neighbouring_patch_is_only_told(look: Look) -> None:
    judgement = judge(look({"torch.version": "2.9.1", "triton.version": "3.5.0"}))
    assert (judgement.severity, judgement.values) == ("info", {"advice.triton": "==3.5.1"})


def test_a_pin_read_from_torchs_metadata_counts_before_the_table(look: Look) -> None:
    facts = {"torch.version": "2.9.1", "triton.version": "3.6.0", "torch.triton_pin": "==3.6.0"}
    assert judge(look(facts)).outcome == "pass"


def test_a_missing_triton_weighs_more_under_vllm(look: Look) -> None:
    facts = {"torch.version": "2.9.1", "triton.version": None}
    assert judge(look(facts)).severity == "info"
    assert judge(look(facts, "vllm")).severity == "warning"


def test_an_unknown_pin_is_no_verdict(look: Look) -> None:
    facts = {"torch.version": "2.9.0a0+x", "torch.build": "cuda", "triton.version": "3.5.0"}
    with pytest.raises(MissingFactError, match=r"torch.triton_pin"):
        judge(look(facts))
