"""FD128: CUDA cannot start because nvidia_uvm or its device node is missing."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model.regex import regex

_WORDS = regex(r"CUDA unknown error")


def judge(view: View) -> Judgement:
    """Judge containers hard: a bare machine makes node and module on first use."""
    elsewhere = situation.uses_windows_driver(view) or situation.is_jetson(view)
    if situation.proves_cuda(view) or elsewhere:
        return passed("live.cuda_available")
    said = situation.says(view, _WORDS)
    if said:
        return failed(said, "driver.uvm_loaded", "driver.uvm_node")
    node = view.need("driver.uvm_node")
    if not situation.reports_gpu(view) and not view.value("driver.device_nodes"):
        return passed("gpu.count", "driver.device_nodes")
    refused = view.value("live.cuda_available") is False
    if node is False:
        certain = refused or situation.runs_in_container(view)
        return failed(
            "driver.uvm_node",
            "driver.uvm_loaded",
            detail="There is no /dev/nvidia-uvm.",
            severity=None if certain else "info",
        )
    if refused and view.value("driver.uvm_loaded") is False:
        return failed("driver.uvm_loaded", detail="The module nvidia_uvm is not loaded.")
    return passed("driver.uvm_node", "driver.uvm_loaded")
