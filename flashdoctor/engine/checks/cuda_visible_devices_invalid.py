"""FD704: CUDA_VISIBLE_DEVICES hides every GPU, or names one that is not there."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, View, failed, passed


def judge(view: View) -> Judgement:
    """Fail where nothing is left to see; warn where entries are ignored, with all behind them."""
    if view.get("gpu.visible_devices").state == "absent" or situation.reports_gpu(view) is False:
        return passed("gpu.visible_devices")
    invalid = view.value("gpu.visible_invalid") or []
    left = view.value("gpu.visible_count") if invalid else view.need("gpu.visible_count")
    setting = view.value("gpu.visible_devices", "")
    if left == 0:
        text = f"CUDA_VISIBLE_DEVICES={setting!r} leaves none of the GPUs visible."
        return failed("gpu.visible_devices", "gpu.visible_count", "gpu.count", detail=text)
    if invalid:
        text = "No device: " + ", ".join(invalid) + ". CUDA stops reading at the first of them."
        return failed("gpu.visible_devices", "gpu.visible_invalid", detail=text, severity="warning")
    return passed("gpu.visible_devices", "gpu.visible_count")
