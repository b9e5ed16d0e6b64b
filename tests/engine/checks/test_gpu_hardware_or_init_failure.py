from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.engine.checks.gpu_hardware_or_init_failure import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


def test_a_lost_gpu_is_a_failure_wherever_one_looks_from(look: Look) -> None:
    facts = {"nvml.status": "gpu-lost", "nvml.error": "GPU is lost", "container.kind": "docker"}
    assert judge(look(facts)).evidence == ("nvml.status", "nvml.error")


@pytest.mark.parametrize("elsewhere", [{"container.kind": "docker"}, {"wsl.version": 2}])
def test_an_empty_list_says_nothing_inside_a_container_or_wsl(
    look: Look, elsewhere: dict[str, Any]
) -> None:
    facts = {"driver.module_loaded": True, "gpu.pci_count": 8, "gpu.count": 0, **elsewhere}
    assert judge(look(facts)).outcome == "pass"


def test_a_card_that_nouveau_holds_did_not_fail(look: Look) -> None:
    facts = {"driver.module_loaded": True, "gpu.pci_count": 1, "gpu.count": 0}
    assert judge(look({**facts, "driver.claimed_by": "nouveau"})).outcome == "pass"
    assert judge(look({**facts, "driver.claimed_by": "nvidia"})).outcome == "fail"
