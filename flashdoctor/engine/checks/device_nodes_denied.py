"""FD132: this user may not open the GPU's device nodes."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model.regex import regex

_ESSENTIAL = regex(r"/dev/(nvidiactl|nvidia-uvm|dxg)$")
_GPU = regex(r"/dev/nvidia\d+$")


def judge(view: View) -> Judgement:
    """All GPUs denied, or a node that every process needs, is an error; some GPUs a warning."""
    denied = view.need("driver.nodes_denied") or []
    gpus = [node for node in denied if _GPU.search(node)]
    essential = [node for node in denied if _ESSENTIAL.search(node)]
    if situation.proves_cuda(view) or not (gpus or essential):
        return passed("driver.nodes_denied")
    some_left = not essential and len(gpus) < view.value("driver.device_nodes", len(gpus))
    return failed(
        "driver.nodes_denied",
        detail="Not to be opened: " + ", ".join([*essential, *gpus]) + ".",
        severity="warning" if some_left else None,
    )
