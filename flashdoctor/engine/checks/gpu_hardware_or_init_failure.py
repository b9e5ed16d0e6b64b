"""FD104: the driver runs, and the GPU on the bus does not answer it."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.checks.gpu_claimed_by_other_kernel_driver import find_other
from flashdoctor.engine.view import Judgement, View, failed, passed


def judge(view: View) -> Judgement:
    """Fail on a lost GPU, and on a bare machine whose driver lists none of the GPUs on its bus."""
    if view.value("nvml.status") == "gpu-lost":
        return failed("nvml.status", "nvml.error", detail="NVML says that a GPU is lost.")
    if situation.runs_in_container(view) or situation.runs_in_wsl(view):
        return passed("nvml.status")
    if find_other(view) or not view.need("driver.module_loaded"):
        return passed("driver.module_loaded")
    on_bus, reported = view.need("gpu.pci_count") or 0, view.need("gpu.count") or 0
    if on_bus and not reported:
        return failed("gpu.pci_count", "gpu.count", "driver.module_version", "driver.module_flavor")
    return passed("gpu.pci_count", "gpu.count")
