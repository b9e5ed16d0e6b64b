"""FD649: the floor of a quantization method in this vLLM lies above this GPU."""

from __future__ import annotations

from flashdoctor.engine.checks._gpus import named, visible_gpus
from flashdoctor.engine.checks._quantization import lowest_capability, methods_of, stated
from flashdoctor.engine.checks._vllm import installed_version
from flashdoctor.engine.view import Judgement, View, failed, passed

_GPU = "gpu.compute_capability"


def judge(view: View) -> Judgement:
    """Compare the visible GPUs with the lowest floor among the method's kernels."""
    method, version = stated(view, "model.quantization"), installed_version(view)
    floor = lowest_capability(view, methods_of(view, method), version)
    weak = [gpu for gpu in visible_gpus(view) if floor is not None and gpu.capability < floor]
    if not weak:
        return passed("model.quantization", _GPU)
    return failed(
        "model.quantization",
        _GPU,
        detail=f"{method} needs {floor} in vLLM {version}, and this is {named(weak)}.",
    )
