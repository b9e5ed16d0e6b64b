"""FD654: the GPU has no arithmetic for the quantization, so its weights are unpacked."""

from __future__ import annotations

from flashdoctor.engine.checks._gpus import named, visible_gpus
from flashdoctor.engine.checks._quantization import (
    launch_row,
    lowest_capability,
    methods_of,
    stated,
)
from flashdoctor.engine.checks._vllm import installed_version
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model import versions

_SCHEME, _GPU = "model.quantization_scheme", "gpu.compute_capability"


def judge(view: View) -> Judgement:
    """Find GPUs from the method's floor on, below the first that multiplies in the small type."""
    scheme, version = stated(view, _SCHEME), installed_version(view)
    row = launch_row(view, "arithmetic", "scheme", scheme, version)
    native = versions.capability(row["min_capability"]) if row else None
    floor = lowest_capability(view, methods_of(view, view.value("model.quantization", "")), version)
    weak = [
        gpu
        for gpu in visible_gpus(view)
        if native and (floor or gpu.capability) <= gpu.capability < native
    ]
    if row is None or not weak:
        return passed(_SCHEME, _GPU)
    return failed(
        _SCHEME,
        _GPU,
        detail=f"On {named(weak)} {row['below']}: {native} is the first that multiplies in it.",
    )
