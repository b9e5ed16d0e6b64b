"""FD130: the driver runs, and the loader finds no libcuda.so.1."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model.regex import regex

_WORDS = regex(r"libcuda\.so[.\d]*: cannot open shared object file|libcuda\.so cannot found")


def judge(view: View) -> Judgement:
    """Judge only where a driver runs here: without one the missing library is no cause."""
    if situation.says(view, _WORDS):
        return failed("live.error", "driver.libcuda_path", "driver.libcuda_candidates")
    path = view.get("driver.libcuda_path")
    if path.is_known or situation.proves_cuda(view) or situation.runs_on_windows(view):
        return passed("driver.libcuda_path")
    view.need("driver.libcuda_path")
    runs = situation.reports_gpu(view) or view.value("nvml.status") == "ok"
    if runs or (view.need("driver.module_loaded") and _has_nodes(view)):
        return failed("driver.libcuda_path", "driver.module_version", "nvml.status")
    return passed("driver.module_loaded")


def _has_nodes(view: View) -> bool:
    return bool(view.need("driver.device_nodes"))
