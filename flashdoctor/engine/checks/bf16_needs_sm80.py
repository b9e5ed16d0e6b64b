"""FD401: no bfloat16 tensor cores."""

from __future__ import annotations

from flashdoctor.engine.checks._gpus import named, visible_gpus
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model.versions import Capability

_GPU = "gpu.compute_capability"
_FIRST = Capability(8, 0)


def judge(view: View) -> Judgement:
    """Name the visible GPUs older than Ampere."""
    old = [gpu for gpu in visible_gpus(view) if gpu.capability < _FIRST]
    return failed(_GPU, "gpu.name", detail=f"{named(old)}: float16 only.") if old else passed(_GPU)
