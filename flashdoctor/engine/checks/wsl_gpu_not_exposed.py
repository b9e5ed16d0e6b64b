"""FD110: WSL 2 runs, and Windows gives it no usable GPU."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed

_SILENT = frozenset({"library-not-found", "driver-not-loaded", "no-permission"})


def judge(view: View) -> Judgement:
    """Leave WSL 1 and containers to their own rules."""
    version = view.need("wsl.version")
    if version != 2 or situation.runs_in_container(view):  # noqa: PLR2004 - WSL's own numbering
        return passed("wsl.version")
    if situation.lacks_driver(view):
        return failed("driver.version", "wsl.version", detail="Windows has no NVIDIA driver.")
    if situation.reports_gpu(view) or situation.proves_cuda(view):
        return passed("wsl.version", "gpu.count")
    if view.value("wsl.dxg") is False:
        return failed("wsl.dxg", detail="There is no /dev/dxg.")
    if view.value("wsl.library_path") is False:
        return failed("wsl.library_path", detail="/usr/lib/wsl/lib holds no libcuda.so.1.")
    if situation.reports_gpu(view) is False or view.value("nvml.status") in _SILENT:
        return failed("gpu.count", "nvml.status", "nvml.error", "wsl.dxg")
    raise MissingFactError("wsl.dxg")
