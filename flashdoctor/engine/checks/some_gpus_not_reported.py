"""FD118: the PCI bus holds more NVIDIA GPUs than the driver reports."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, View, failed, passed


def judge(view: View) -> Judgement:
    """Judge bare machines only: a container shows the whole bus and gets some of the GPUs."""
    if situation.runs_in_container(view) or situation.runs_in_wsl(view):
        return passed("gpu.count")
    on_bus, reported = view.need("gpu.pci_count") or 0, view.need("gpu.count") or 0
    if 0 < reported < on_bus:
        text = f"The driver reports {reported} of {on_bus} GPUs on the bus."
        return failed("gpu.pci_count", "gpu.count", detail=text)
    return passed("gpu.pci_count", "gpu.count")
