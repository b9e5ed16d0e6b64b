"""FD655: vLLM chooses a kernel for the quantization that this GPU does not have."""

from __future__ import annotations

from flashdoctor.engine.checks._gpus import named, visible_gpus
from flashdoctor.engine.checks._quantization import launch_row, stated
from flashdoctor.engine.checks._vllm import installed_version
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model import versions

_SCHEME, _GPU = "model.quantization_scheme", "gpu.compute_capability"


def judge(view: View) -> Judgement:
    """Compare the visible GPUs with those from which on the kernel is missing."""
    scheme, version = stated(view, _SCHEME), installed_version(view)
    row = launch_row(view, "missing_kernel", "scheme", scheme, version)
    since = versions.capability(row["from_capability"]) if row else None
    without = [gpu for gpu in visible_gpus(view) if since and gpu.capability >= since]
    if row is None or not without:
        return passed(_SCHEME, _GPU)
    words = row["text"].format(sm="".join(map(str, without[0].capability)))
    return failed(_SCHEME, _GPU, detail=f"On {named(without)} vLLM {version} ends with: {words}")
