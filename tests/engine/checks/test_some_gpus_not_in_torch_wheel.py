from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.some_gpus_not_in_torch_wheel import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


PAIR = [
    {"index": 0, "name": "Tesla P40", "compute_capability": "6.1", "visible": True},
    {"index": 1, "name": "NVIDIA L4", "compute_capability": "8.9", "visible": True},
]


def test_the_gpus_that_work_are_named_by_index(look: Look) -> None:
    judgement = judge(look({"torch.version": "2.8.0+cu128", "gpu.devices": PAIR}))
    assert judgement.values["advice.devices"] == "1"
    assert judgement.detail.startswith("Tesla P40 needs sm_61")


def test_a_build_for_all_of_them_is_offered(look: Look) -> None:
    judgement = judge(look({"torch.version": "2.8.0+cu128", "gpu.devices": PAIR}))
    offered = f"{judgement.values['advice.torch']}+{judgement.values['advice.index']}"
    assert judge(look({"torch.version": offered, "gpu.devices": PAIR})).outcome == "pass"


def test_without_a_gpu_there_is_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError):
        judge(look({"torch.version": "2.8.0+cu128", "gpu.name": None}))
