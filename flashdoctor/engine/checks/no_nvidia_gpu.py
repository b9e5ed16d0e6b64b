"""FD101: no NVIDIA GPU is on this machine, and nothing else explains that none is seen."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed


def judge(view: View) -> Judgement:
    """Pass wherever another rule says why the GPU cannot be seen from here."""
    if situation.reports_gpu(view) or situation.proves_cuda(view) or _is_explained(view):
        return passed("gpu.count")
    count = view.get("gpu.pci_count")
    if count.is_known and count.value > 0:
        return passed("gpu.pci_count")
    if count.is_known:
        return failed("gpu.pci_count", "nvml.status", detail="The PCI bus holds no NVIDIA GPU.")
    if situation.reports_gpu(view) is False:
        return failed("gpu.count", "gpu.name", detail="The driver reports no GPU.")
    if _shows_no_trace(view):
        return failed("nvml.status", "driver.module_loaded", "driver.device_nodes")
    raise MissingFactError("gpu.count")


def _is_explained(view: View) -> bool:
    """Whether containers, WSL, macOS, Jetson or another maker's GPU have rules of their own."""
    return (
        situation.runs_in_container(view)
        or situation.runs_in_wsl(view)
        or situation.is_jetson(view)
        or situation.is_foreign(view)
        or view.value("os.system") in {"Darwin", "Windows"}
        or view.value("os.rocm") is True
    )


def _shows_no_trace(view: View) -> bool:
    return (
        view.value("nvml.status") == "library-not-found"
        and view.value("driver.module_loaded") is False
        and view.value("driver.device_nodes", 0) == 0
    )
