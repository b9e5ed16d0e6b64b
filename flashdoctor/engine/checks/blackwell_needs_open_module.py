"""FD135: a GPU that only the open kernel modules drive, with the proprietary ones loaded."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.coverage import read_capability
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model.regex import regex
from flashdoctor.model.versions import Capability

_FIRST = Capability(10, 0)
_GRACE = regex(r"\bGH200\b")


def judge(view: View) -> Judgement:
    """Blackwell and later, and Grace Hopper."""
    if view.need("driver.module_flavor") != "proprietary" or situation.proves_cuda(view):
        return passed("driver.module_flavor")
    for device in view.devices():
        capability, name = read_capability(device), str(device.get("name") or "")
        if (capability and capability >= _FIRST) or _GRACE.search(name):
            return failed("driver.module_flavor", "driver.module_version", "gpu.name")
    return passed("driver.module_flavor", "gpu.compute_capabilities")
