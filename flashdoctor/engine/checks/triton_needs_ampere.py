"""FD404: vLLM's Triton prefill kernel on a GPU older than Ampere."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import at_least
from flashdoctor.engine.checks._gpus import named, visible_gpus
from flashdoctor.engine.checks.triton_ptxas_arch_unknown import triton_version
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.versions import Capability

_SUBJECT, _GPU = "vllm.version", "gpu.compute_capability"
_FIRST = Capability(8, 0)
_FIXED_IN = "3.1"


def judge(view: View) -> Judgement:
    """Fail on Volta and Turing with a Triton up to 3.0 under vLLM."""
    if view.need(_SUBJECT) is None:
        raise MissingFactError(_SUBJECT)
    old = [gpu for gpu in visible_gpus(view) if gpu.capability < _FIRST]
    if not old:
        return passed(_GPU, _SUBJECT)
    version, path = triton_version(view)
    if at_least(version, _FIXED_IN):
        return passed(_GPU, path)
    detail = f"Triton {version} on {named(old)} aborts in vLLM's kernel for prompts with a prefix."
    return failed(_GPU, "gpu.name", path, _SUBJECT, detail=detail)
