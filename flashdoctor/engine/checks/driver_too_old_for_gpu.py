"""FD122: the driver branch is older than the GPU's architecture."""

from __future__ import annotations

from flashdoctor.engine import drivers, situation
from flashdoctor.engine.coverage import read_capability
from flashdoctor.engine.view import Judgement, View, failed, passed


def judge(view: View) -> Judgement:
    """Fail below the first branch that knows the architecture at all.

    Warn where no branch up to this one lists any GPU of it, though its CUDA knows the
    architecture. That a product is not listed by name says nothing: T4 is not in old lists either.
    """
    branch = view.need("driver.branch")
    devices = view.devices()
    if branch is None or situation.is_jetson(view) or situation.proves_cuda(view):
        return passed("driver.branch")
    for device in devices:
        capability = read_capability(device)
        floor = drivers.architecture_floor(view.tables, capability) if capability else None
        if capability and floor and branch < floor:
            return _fail(device["name"], str(capability), floor, certain=True)
        listed = drivers.listed_floor(view.tables, capability) if capability else None
        if capability and listed and branch < listed:
            return _fail(device["name"], str(capability), listed, certain=False)
    return passed("driver.branch", "gpu.compute_capabilities")


def _fail(name: str, capability: str, floor: int, *, certain: bool) -> Judgement:
    sure = "the first branch for this architecture is" if certain else "the first listing one is"
    return failed(
        "driver.version",
        "gpu.name",
        "gpu.compute_capability",
        detail=f"{name} has compute capability {capability}; {sure} {floor}.",
        values={"advice.branch": str(floor)},
        severity=None if certain else "warning",
    )
