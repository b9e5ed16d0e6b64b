"""FD650: the plain kernels of AWQ and GPTQ are written for float16 alone."""

from __future__ import annotations

from flashdoctor.engine.checks._gpus import visible_gpus
from flashdoctor.engine.checks._quantization import MARLIN, lowest_capability, stated
from flashdoctor.engine.checks._vllm import installed_version, release_in
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model.versions import Capability

_BF16 = "bfloat16"
_GPU = "gpu.compute_capability"
_AMPERE = Capability(8, 0)
_LAST_PLAIN = "0.23.99"
"""From 0.24 on one method stands for both kernels of AWQ, and GPTQ's before that."""


def judge(view: View) -> Judgement:
    """Say whether a plain kernel would be given bfloat16."""
    method, asked = stated(view, "model.quantization"), view.value("launch.dtype", "auto")
    if method not in MARLIN or (view.need("model.dtype") if asked == "auto" else asked) != _BF16:
        return passed("model.quantization")
    version = installed_version(view)
    by_itself = asked == "auto" and not release_in(version, "0", "0.8.5")
    if not any(
        _is_plain(view, method, version, gpu.capability, by_itself) for gpu in visible_gpus(view)
    ):
        return passed("model.quantization")
    detail = f"vLLM {version} runs {method} with its plain kernel here."
    return failed("model.quantization", _GPU, detail=detail)


def _is_plain(
    view: View, method: str, version: str, capability: Capability, by_itself: bool
) -> bool:
    """Whether the plain kernel gets bfloat16; vLLM turns to float16 where the GPU has no other."""
    if not release_in(version, "0.2.7", _LAST_PLAIN) or (by_itself and capability < _AMPERE):
        return False
    floor = lowest_capability(view, MARLIN[method], version)
    return view.value("launch.quantization") == method or floor is None or capability < floor
