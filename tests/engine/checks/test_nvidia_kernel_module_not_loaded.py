from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.nvidia_kernel_module_not_loaded import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


def test_an_unseen_bus_inside_a_container_leaves_the_question_to_the_container(look: Look) -> None:
    facts = {"nvml.status": "driver-not-loaded", "container.kind": "docker"}
    assert judge(look(facts)).outcome == "pass"
    assert judge(look({**facts, "gpu.pci_count": 4})).outcome == "fail"


def test_a_gpu_that_answers_outweighs_an_unlisted_module(look: Look) -> None:
    facts = {"gpu.count": 1, "driver.module_loaded": False, "gpu.pci_count": 1}
    assert judge(look(facts)).outcome == "pass"


def test_a_module_that_nobody_could_look_for_is_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError, match=r"driver.module_loaded"):
        judge(look({"gpu.pci_count": 1, "nvml.status": "library-not-found"}))
