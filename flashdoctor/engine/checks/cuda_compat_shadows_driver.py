"""FD125: a compat libcuda that does not fit the kernel module is loaded in the driver's place."""

from __future__ import annotations

from flashdoctor.engine import drivers, situation
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model import versions
from flashdoctor.model.regex import regex

_WORDS = regex(r"Error 803|unsupported display driver")


def judge(view: View) -> Judgement:
    """Fail on one no newer than the module's branch; doubt a newer one on a branch not listed."""
    said = situation.says(view, _WORDS)
    if said:
        return failed(
            said, "driver.libcuda_path", "driver.libcuda_version", "driver.module_version"
        )
    if view.need("driver.libcuda_origin") != "compat" or situation.proves_cuda(view):
        return passed("driver.libcuda_origin")
    library, module = view.need("driver.libcuda_version"), drivers.kernel_driver(view)
    if not library or not module or library == module:
        return passed("driver.libcuda_version", "driver.module_version")
    text = f"The loader takes the compat libcuda {library}, the kernel module is {module}."
    evidence = ("driver.libcuda_path", "driver.libcuda_version", "driver.module_version")
    if (versions.major(library) or 0) <= (versions.major(module) or 0):
        return failed(*evidence, detail=text)
    cuda = view.value("driver.libcuda_cuda", view.value("torch.cuda", ""))
    if view.value("gpu.segment") == "datacenter" and not drivers.takes_forward_compat(view, cuda):
        return failed(*evidence, "driver.branch", detail=text, severity="warning")
    return passed(*evidence)
