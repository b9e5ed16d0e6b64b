"""FD701: this container was started without a GPU."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, View, failed, passed

_SILENT = frozenset({"library-not-found", "driver-not-loaded"})
_NOTHING = frozenset({"", "void", "none"})


def judge(view: View) -> Judgement:
    """Pass where a device node is there: then a GPU was given and something else is wrong."""
    if view.need("container.kind") is None:
        return passed("container.kind")
    bare = situation.lacks_driver(view)
    if (not bare and situation.reports_gpu(view)) or situation.proves_cuda(view) or _has_node(view):
        return passed("container.kind", "gpu.count")
    unclear = not bare and situation.reports_gpu(view) is None
    if unclear and view.need("nvml.status") not in _SILENT:
        return passed("nvml.status")
    return failed(
        "container.kind",
        "driver.device_nodes",
        "gpu.pci_count",
        "nvml.status",
        "container.visible_devices",
        detail=_describe(view),
    )


def _has_node(view: View) -> bool:
    return bool(view.value("driver.device_nodes")) or view.value("wsl.dxg") is True


def _describe(view: View) -> str:
    wanted = view.get("container.visible_devices")
    if wanted.is_known and wanted.value.strip().lower() in _NOTHING:
        return f"NVIDIA_VISIBLE_DEVICES is {wanted.value!r}: no GPU was asked for."
    if view.value("gpu.pci_count") == 0:
        return (
            "The PCI bus, which containers see whole, holds no NVIDIA GPU: the host may have none."
        )
    if wanted.is_known:
        return "NVIDIA_VISIBLE_DEVICES asks for GPUs, and no runtime acted on it."
    return "No GPU was handed into it."
