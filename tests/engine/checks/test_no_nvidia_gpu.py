from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.engine.checks.no_nvidia_gpu import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


@pytest.mark.parametrize(
    "facts",
    [
        {"container.kind": "podman"},
        {"wsl.version": 2},
        {"os.system": "Darwin"},
        {"os.system": "Windows"},
        {"os.jetson": True},
        {"os.rocm": True},
        {"gpu.name": "AMD Radeon RX 7900 XTX"},
        {"live.cuda_available": True},
    ],
)
def test_where_another_rule_explains_it_an_empty_bus_is_no_finding(
    look: Look, facts: dict[str, Any]
) -> None:
    assert judge(look({"gpu.pci_count": 0, **facts})).outcome == "pass"


def test_an_unlisted_bus_with_no_trace_of_a_driver_is_a_machine_without_a_gpu(look: Look) -> None:
    facts = {
        "nvml.status": "library-not-found",
        "driver.module_loaded": False,
        "driver.device_nodes": 0,
    }
    assert judge(look(facts)).evidence == (
        "nvml.status",
        "driver.module_loaded",
        "driver.device_nodes",
    )


def test_a_driver_that_reports_none_is_no_gpu_only_where_the_bus_cannot_say_more(
    look: Look,
) -> None:
    assert judge(look({"gpu.count": 0})).outcome == "fail"
    assert judge(look({"gpu.count": 0, "gpu.pci_count": 1})).outcome == "pass"


def test_nothing_stated_is_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError, match=r"gpu.count"):
        judge(look({}))
