"""FD103: nouveau, Nova or vfio-pci holds the GPU, so the nvidia module cannot."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, View, failed, passed

_REPLACED = {"nouveau": "nouveau", "nova_core": "nova_core", "nova-core": "nova_core"}
_REPLACED |= {"nova": "nova_core", "nova_drm": "nova_core", "nova-drm": "nova_core"}
_PASSED_THROUGH = "vfio-pci"
OTHERS = frozenset({*_REPLACED, _PASSED_THROUGH})


def find_other(view: View) -> str | None:
    """Return the foreign kernel driver that holds a GPU, None where nvidia holds one too."""
    holders = str(view.value("driver.claimed_by", "")).split(", ")
    return None if "nvidia" in holders else next((one for one in holders if one in OTHERS), None)


def judge(view: View) -> Judgement:
    """Pass where the driver reports a GPU all the same: then only some card is held."""
    view.need("driver.claimed_by")
    holder = find_other(view)
    if holder is None or situation.reports_gpu(view):
        return passed("driver.claimed_by")
    if holder == _PASSED_THROUGH:
        return failed("driver.claimed_by", detail="The GPU is reserved for a virtual machine.")
    return failed(
        "driver.claimed_by",
        "gpu.pci_count",
        detail=f"{holder} bound the GPU before the nvidia module could.",
        values={"advice.module": _REPLACED[holder]},
    )
