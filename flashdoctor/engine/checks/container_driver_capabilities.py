"""FD712: NVIDIA_DRIVER_CAPABILITIES leaves CUDA out of the container."""

from __future__ import annotations

import re

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, View, failed, passed


def judge(view: View) -> Judgement:
    """Pass where libcuda came in all the same: a CDI specification ignores the variable."""
    if view.need("container.kind") is None or view.need("container.driver_capabilities") is None:
        return passed("container.driver_capabilities")
    if not lacks_compute(view) or situation.proves_cuda(view):
        return passed("container.driver_capabilities", "driver.libcuda_path")
    return failed("container.driver_capabilities", "driver.libcuda_path")


def lacks_compute(view: View) -> bool:
    """Whether the variable is set without `compute` or `all`, and no libcuda is there."""
    stated = view.get("container.driver_capabilities")
    named = set(re.split(r"[\s,]+", str(stated.value or "").lower())) - {""}
    missing = stated.is_known and bool(named) and not named & {"all", "compute"}
    return missing and not view.get("driver.libcuda_path").is_known
