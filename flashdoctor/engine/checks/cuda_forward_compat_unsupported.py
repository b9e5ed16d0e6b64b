"""FD126: a compat libcuda newer than the driver is loaded on a card that refuses it."""

from __future__ import annotations

from flashdoctor.engine import drivers, situation
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model import versions
from flashdoctor.model.regex import regex

_REFUSING = frozenset({"consumer", "laptop"})
_DOUBTFUL = frozenset({"workstation"})


_WORDS = regex(r"Error 804|forward compatibility was attempted")


def judge(view: View) -> Judgement:
    """GeForce refuses it; of the RTX workstation cards only some in certified servers take it."""
    said = situation.says(view, _WORDS)
    if said:
        return failed(said, "driver.libcuda_path", "driver.libcuda_version", "gpu.name")
    if view.need("driver.libcuda_origin") != "compat" or situation.proves_cuda(view):
        return passed("driver.libcuda_origin")
    segment = view.need("gpu.segment")
    library, module = view.need("driver.libcuda_version"), drivers.kernel_driver(view)
    newer = (versions.major(library or "") or 0) > (versions.major(module or "") or 0)
    if not newer or segment not in _REFUSING | _DOUBTFUL:
        return passed("gpu.segment", "driver.libcuda_version")
    return failed(
        "gpu.name",
        "driver.libcuda_path",
        "driver.libcuda_version",
        "driver.module_version",
        detail=f"The compat libcuda {library} meets kernel module {module} on a {segment} card.",
        severity="warning" if segment in _DOUBTFUL else None,
    )
