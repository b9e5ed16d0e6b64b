"""FD714: MIG is on: a process gets one slice, or none where no slice was made."""

from __future__ import annotations

from flashdoctor.engine.view import Judgement, View, failed, passed


def judge(view: View) -> Judgement:
    """Fail hard where no visible GPU has an instance, else only say what a slice means."""
    if not view.need("gpu.mig_enabled"):
        return passed("gpu.mig_enabled")
    devices = [one for one in view.value("gpu.devices") or () if one.get("visible", True)]
    sliced = [one for one in devices if one.get("mig_enabled")]
    whole = len(devices) > len(sliced)
    if sliced and not whole and all(one.get("mig_instances") == 0 for one in sliced):
        text = "MIG is on and no instance has been made: CUDA sees no device."
        return failed("gpu.mig_enabled", "gpu.devices", detail=text, severity="error")
    return failed("gpu.mig_enabled", "gpu.name", "gpu.memory_mib", "gpu.visible_devices")
