"""FD603: the GPU is older than this vLLM runs on."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.checks._gpus import named, visible_gpus
from flashdoctor.engine.checks._vllm import installed_version
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.versions import capability

_MINIMUM, _GPU = "vllm.min_capability", "gpu.compute_capability"


def judge(view: View) -> Judgement:
    """Compare every visible GPU with the lowest target in the wheel.

    That V1 of 0.8 to 0.10 asks for 8.0 does not count: V0 was still there and taken instead.
    """
    version = installed_version(view)
    minimum = capability(str(view.need(_MINIMUM) or ""))
    if minimum is None:
        raise MissingFactError(_MINIMUM)
    old = [gpu for gpu in visible_gpus(view) if gpu.capability < minimum]
    if not old and situation.is_jetson(view):
        raise MissingFactError("live.kernel_ran")
    if not old:
        return passed(_GPU, _MINIMUM)
    return failed(
        _GPU,
        "gpu.name",
        _MINIMUM,
        "vllm.version",
        detail=f"{named(old)}: vLLM {version} starts at {minimum}.",
    )
