"""FD228: torch has code for some of the visible GPUs and none for others."""

from __future__ import annotations

from flashdoctor.engine.checks import gpu_arch_not_in_torch_wheel as arch
from flashdoctor.engine.coverage import read_capability
from flashdoctor.engine.torch_choice import advise_torch
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed


def judge(view: View) -> Judgement:
    """Leave machines where no GPU is served to FD201."""
    devices = [device for device in view.devices() if read_capability(device)]
    if not devices or arch.is_outside(view) or view.need("torch.version") is None:
        raise MissingFactError("gpu.compute_capability")
    served, path = arch.served_devices(view, devices)
    left = [device for device in devices if device not in served]
    if not served or not left:
        return passed(path, "gpu.compute_capabilities")
    return failed(
        "gpu.compute_capabilities",
        "torch.version",
        path,
        detail=arch.describe(view, left[0]),
        values={
            "advice.devices": ",".join(str(device["index"]) for device in served),
            **advise_torch(view),
        },
    )
