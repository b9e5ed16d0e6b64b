from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.gpu_held_back import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


def test_every_complaint_names_its_gpu(look: Look) -> None:
    devices = [
        {"index": 0, "throttle_reasons": ["sw-thermal", "hw-slowdown"]},
        {"index": 3, "pcie_width": 8, "pcie_width_max": 16},
    ]
    detail = judge(look({"gpu.devices": devices})).detail
    assert "GPU 0 is slowed down: hw-slowdown, sw-thermal" in detail
    assert "GPU 3 has a PCIe link of x8 where x16 is possible" in detail


@pytest.mark.parametrize("reason", ["idle", "power-cap", "sync-boost", "application-clocks"])
def test_what_is_normal_is_not_told(look: Look, reason: str) -> None:
    devices = [{"index": 0, "throttle_reasons": [reason], "pcie_width": None}]
    assert judge(look({"gpu.devices": devices})).outcome == "pass"
