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


def test_a_driver_that_is_said_to_be_missing_is_missing(look: Look) -> None:
    facts = {"gpu.name": "A100", "driver.version": None}
    assert judge(look(facts)).detail == "No NVIDIA driver is installed."
    assert judge(look({**facts, "nvml.status": "ok"})).outcome == "pass"


@pytest.mark.parametrize(
    "other",
    [
        {"wsl.version": 2},
        {"gpu.name": "Orin"},
        {"os.system": "Darwin"},
        {"container.kind": "docker"},
    ],
)
def test_what_has_its_own_rule_is_left_to_it(look: Look, other: dict[str, object]) -> None:
    assert judge(look({"gpu.name": "A100", "driver.version": None, **other})).outcome == "pass"
