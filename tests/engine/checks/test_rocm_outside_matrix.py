from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.rocm_outside_matrix import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


def test_an_integrated_amd_gpu_beside_an_nvidia_card_is_not_the_subject(look: Look) -> None:
    facts = {"os.rocm": True, "torch.version": "2.9.1+rocm6.4"}
    assert judge(look(facts)).outcome == "fail"
    assert judge(look({**facts, "gpu.name": "RTX 4090"})).outcome == "pass"


@pytest.mark.parametrize("name", ["AMD Instinct MI300X", "MI250", "Radeon RX 7900 XTX"])
def test_amds_names_are_known(look: Look, name: str) -> None:
    assert judge(look({"gpu.name": name})).evidence == ("gpu.name", "torch.build")


def test_nothing_stated_is_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError):
        judge(look({}))
