from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.torch_build_swapped_by_pip import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


def test_a_missing_package_is_told(look: Look) -> None:
    record = {"package": "nvidia-cublas-cu12", "required": "==12.8.4.1", "installed": None}
    judgement = judge(look({"torch.installs": 1, "torch.pins_unmet": [record]}))
    assert "not installed" in judgement.detail


def test_two_installations_are_counted(look: Look) -> None:
    assert judge(look({"torch.installs": 2})).detail.startswith("2 torch")


@pytest.mark.parametrize("package", ["nvidia-cudnn-cu12", "nvidia-nccl-cu13", "nvidia-nccl"])
def test_cudnn_and_nccl_have_rules_of_their_own(look: Look, package: str) -> None:
    record = {"package": package, "required": "==1", "installed": "2"}
    facts = {"torch.installs": 1, "torch.pins_unmet": [record]}
    assert judge(look(facts)).outcome == "pass"


def test_unread_metadata_is_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError):
        judge(look({}))
