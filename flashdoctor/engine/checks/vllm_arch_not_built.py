"""FD602: the vLLM that is installed has no code for this GPU."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.checks._gpus import Gpu, named, runs_on, visible_gpus
from flashdoctor.engine.checks._vllm import installed_version, is_from_matrix
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.versions import capability

_SASS, _GPU, _MINIMUM = "vllm.sass", "gpu.compute_capability", "vllm.min_capability"


def judge(view: View) -> Judgement:
    """Look for a target that runs on every visible GPU; FD603 has those below the minimum."""
    version = installed_version(view)
    gpus = [gpu for gpu in visible_gpus(view) if not _is_below_minimum(view, gpu)]
    sass = view.need(_SASS)
    if situation.is_jetson(view) and is_from_matrix(view.get(_SASS)):
        raise MissingFactError(_SASS)
    if not sass or not gpus:
        raise MissingFactError(_SASS)
    ptx = view.value("vllm.ptx", ())
    bare = [gpu for gpu in gpus if not runs_on(sass, ptx, gpu.capability)]
    if not bare:
        return passed(_GPU, _SASS)
    detail = f"vLLM {version} has {', '.join(sass)}, nothing for {named(bare)}."
    return failed(_GPU, "gpu.name", _SASS, "vllm.version", detail=detail)


def _is_below_minimum(view: View, gpu: Gpu) -> bool:
    minimum = capability(str(view.value(_MINIMUM, "")))
    return minimum is not None and gpu.capability < minimum
