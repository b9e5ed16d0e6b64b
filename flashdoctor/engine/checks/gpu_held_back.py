"""FD715: a GPU runs slower than it could: heat, power, or a narrow PCIe link."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flashdoctor.engine.view import Judgement, View, failed, passed

_BRAKES = frozenset({"hw-slowdown", "hw-thermal", "sw-thermal", "power-brake"})


def judge(view: View) -> Judgement:
    """Leave out what is normal: low clocks when idle, a lower link generation when idle."""
    devices = view.need("gpu.devices") or []
    complaints = [text for device in devices for text in _complaints(device)]
    if complaints:
        return failed("gpu.devices", detail="; ".join(complaints[:3]) + ".")
    return passed("gpu.devices")


def _complaints(device: Mapping[str, Any]) -> Iterator[str]:
    name = f"GPU {device.get('index', 0)}"
    brakes = sorted(_BRAKES & set(device.get("throttle_reasons") or ()))
    if brakes:
        yield f"{name} is slowed down: {', '.join(brakes)}"
    width, most = device.get("pcie_width"), device.get("pcie_width_max")
    if width and most and width < most:
        yield f"{name} has a PCIe link of x{width} where x{most} is possible"
