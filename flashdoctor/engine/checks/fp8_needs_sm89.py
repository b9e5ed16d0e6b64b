"""FD402: vLLM on a GPU without FP8 arithmetic."""

from __future__ import annotations

from flashdoctor.engine.checks._gpus import named, visible_gpus
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.versions import Capability

_SUBJECT, _GPU = "vllm.version", "gpu.compute_capability"
_FIRST = Capability(8, 9)


def judge(view: View) -> Judgement:
    """Name the visible GPUs older than Ada, where vLLM is installed and might be asked for FP8."""
    if view.need(_SUBJECT) is None:
        raise MissingFactError(_SUBJECT)
    old = [gpu for gpu in visible_gpus(view) if gpu.capability < _FIRST]
    if not old:
        return passed(_GPU, _SUBJECT)
    return failed(_GPU, "gpu.name", _SUBJECT, detail=f"{named(old)}: no FP8 tensor cores.")
