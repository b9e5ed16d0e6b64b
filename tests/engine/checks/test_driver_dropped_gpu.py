from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.driver_dropped_gpu import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


@pytest.mark.parametrize("gpu", ["V100", "P100", "Tesla P40", "NVIDIA TITAN V"])
def test_580_is_the_last_branch_before_turing(look: Look, gpu: str) -> None:
    assert judge(look({"gpu.name": gpu, "driver.version": "580.142"})).outcome == "pass"
    judgement = judge(look({"gpu.name": gpu, "driver.version": "590.44.01"}))
    newest = "torch 2.15 is the newest that carries this GPU, as cu126"
    assert judgement.values == {"advice.branch": "580", "advice.torch": newest}


def test_a_kepler_is_sent_to_no_torch_that_left_it_out(look: Look) -> None:
    judgement = judge(look({"gpu.name": "Tesla K80", "driver.version": "580.65.06"}))
    newest = "torch 2.7 is the newest that carries this GPU, as cu118"
    assert judgement.values == {"advice.branch": "470", "advice.torch": newest}


def test_windows_numbers_of_the_same_branch_are_no_later_branch(look: Look) -> None:
    facts = {"gpu.name": "V100", "driver.version": "582.28", "wsl.version": 2}
    assert judge(look(facts)).outcome == "pass"


def test_every_visible_gpu_counts(look: Look) -> None:
    devices = [
        {"index": 0, "name": "NVIDIA L4", "compute_capability": "8.9", "visible": True},
        {"index": 1, "name": "Tesla V100-PCIE-16GB", "compute_capability": "7.0", "visible": True},
    ]
    judgement = judge(look({"driver.version": "590.48.01", "gpu.devices": devices}))
    assert judgement.detail.startswith("Tesla V100-PCIE-16GB (Volta)")
