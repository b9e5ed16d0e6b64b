from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.cuda_visible_devices_invalid import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


def test_the_setting_is_told(look: Look) -> None:
    facts = {"gpu.count": 4, "gpu.visible_count": 0, "gpu.visible_devices": ""}
    assert "CUDA_VISIBLE_DEVICES=''" in judge(look(facts)).detail


def test_ignored_entries_are_a_warning_while_some_gpu_is_left(look: Look) -> None:
    facts = {
        "gpu.count": 4,
        "gpu.visible_count": 2,
        "gpu.visible_devices": "0,1,9,3",
        "gpu.visible_invalid": ["9"],
    }
    judgement = judge(look(facts))
    assert judgement.severity == "warning"
    assert "No device: 9." in judgement.detail
    assert judge(look({**facts, "gpu.visible_count": 0})).severity is None


def test_a_machine_without_a_gpu_has_another_fault(look: Look) -> None:
    facts = {"gpu.count": 0, "gpu.visible_count": 0, "gpu.visible_devices": "0"}
    assert judge(look(facts)).outcome == "pass"


def test_an_outcome_that_nobody_could_tell_is_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError, match=r"gpu.visible_count"):
        judge(look({"gpu.count": 2, "gpu.visible_devices": "0"}))
