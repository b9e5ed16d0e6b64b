"""FD702: a container has the GPU's device nodes and not the driver's libraries."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.checks.container_driver_capabilities import lacks_compute
from flashdoctor.engine.view import Judgement, View, failed, passed


def judge(view: View) -> Judgement:
    """Leave containers that asked for too few driver capabilities to FD712."""
    if view.need("container.kind") is None or situation.runs_in_wsl(view):
        return passed("container.kind")
    if situation.proves_cuda(view) or lacks_compute(view):
        return passed("live.cuda_available")
    nodes, library = view.need("driver.device_nodes"), view.need("driver.libcuda_path")
    if nodes and library is None:
        return failed(
            "driver.device_nodes",
            "driver.libcuda_path",
            "nvml.status",
            "container.kind",
            detail="Device nodes are there, the driver's libraries are not.",
        )
    return passed("driver.device_nodes", "driver.libcuda_path")
