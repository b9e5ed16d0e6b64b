from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.gpu_memory_held_by_others import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


def test_the_first_full_gpu_is_told_in_gib(look: Look) -> None:
    devices = [
        {"index": 0, "memory_used_mib": 512, "memory_total_mib": 81559},
        {"index": 1, "memory_used_mib": 40960, "memory_total_mib": 81559},
    ]
    assert judge(look({"gpu.devices": devices})).detail.startswith("GPU 1: 40.0 of 79.6 GiB")


def test_hidden_gpus_do_not_count(look: Look) -> None:
    devices = [
        {"index": 0, "memory_used_mib": 512, "memory_total_mib": 81559, "visible": True},
        {"index": 1, "memory_used_mib": 80000, "memory_total_mib": 81559, "visible": False},
    ]
    assert judge(look({"gpu.devices": devices})).outcome == "pass"


@pytest.mark.parametrize(("used", "outcome"), [(1000, "pass"), (1001, "fail")])
def test_a_tenth_is_tolerated(look: Look, used: int, outcome: str) -> None:
    facts = {"gpu.memory_used_mib": used, "gpu.memory_mib": 10000}
    assert judge(look(facts)).outcome == outcome


def test_a_start_without_memory_is_an_error(look: Look) -> None:
    judgement = judge(look({"live.kernel_error": "CUDA out of memory. Tried to allocate"}))
    assert judgement.severity == "error"


def test_unread_memory_is_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError, match=r"gpu.memory_used_mib"):
        judge(look({"gpu.name": "H100"}))
