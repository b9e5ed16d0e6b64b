"""FD102: a GPU is on the bus, and the nvidia kernel module is not loaded."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.checks.gpu_claimed_by_other_kernel_driver import find_other
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed


def judge(view: View) -> Judgement:
    """Pass where the GPU answers, where another driver holds it, and where none is on the bus."""
    elsewhere = situation.runs_in_wsl(view) or situation.is_jetson(view)
    if situation.lacks_driver(view) and not elsewhere and not _has_other_rules(view):
        return failed("driver.version", detail="No NVIDIA driver is installed.")
    if situation.reports_gpu(view) or situation.proves_cuda(view) or elsewhere:
        return passed("gpu.count")
    if find_other(view):
        return passed("driver.claimed_by")
    loaded = view.value("driver.module_loaded")
    if loaded is None and view.value("nvml.status") != "driver-not-loaded":
        raise MissingFactError("driver.module_loaded")
    if loaded or view.value("gpu.pci_count") == 0 or _is_hidden(view):
        return passed("driver.module_loaded", "gpu.pci_count")
    return failed("driver.module_loaded", "gpu.pci_count", "nvml.status", "driver.claimed_by")


def _has_other_rules(view: View) -> bool:
    """Whether a container, macOS, or another maker's GPU explains that there is no driver."""
    darwin = view.value("os.system") == "Darwin"
    absent = view.get("gpu.name").state == "absent"
    return absent or darwin or situation.runs_in_container(view) or situation.is_foreign(view)


def _is_hidden(view: View) -> bool:
    """Whether the bus cannot be seen, so that only a driver without its module would tell."""
    unseen = not view.get("gpu.pci_count").is_known
    says_so = view.value("nvml.status") == "driver-not-loaded"
    return unseen and (situation.runs_in_container(view) or not says_so)
