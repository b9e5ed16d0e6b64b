"""FD109: Linux driver packages inside WSL stand in the way of the Windows driver's libraries."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, View, failed, passed


def judge(view: View) -> Judgement:
    """Fail hard unless CUDA is proven or the loader still takes WSL's own libcuda."""
    if not view.need("wsl.version"):
        return passed("wsl.version")
    packages = view.need("wsl.linux_driver_packages")
    if not packages:
        return passed("wsl.linux_driver_packages")
    origin = view.value("driver.libcuda_origin")
    harmless = situation.proves_cuda(view) or origin == "wsl"
    return failed(
        "wsl.linux_driver_packages",
        "driver.libcuda_path",
        "nvml.status",
        detail="Installed inside WSL: " + ", ".join(packages) + ".",
        severity="warning" if harmless else None,
        values={"advice.packages": " ".join(packages)},
    )
