"""FD332: FlashAttention-3 on a GPU that it was not made for."""

from __future__ import annotations

from flashdoctor.engine.checks._gpus import Gpu, named, runs_on, visible_gpus
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed

_SUBJECT, _GPU, _SASS = "flash_attn_3.version", "gpu.compute_capability", "flash_attn_3.sass"
_HOPPER, _AMPERE = 9, 8
_BIG_SHARED_MEMORY = {(8, 0), (8, 7)}
"""Where the sm_80 kernels of builds since January 2025 fit (vllm-project/vllm#12429)."""


def judge(view: View) -> Judgement:
    """Take Hopper, and of the 8.x cards those with the shared memory, or with code in the build."""
    version = view.get(_SUBJECT)
    if not version.is_known and not view.requires("fa3"):
        raise MissingFactError(_SUBJECT)
    unfit = [gpu for gpu in visible_gpus(view) if not _fits(view, gpu)]
    if unfit:
        return failed(
            _GPU,
            "gpu.name",
            _SUBJECT,
            _SASS,
            detail=f"{named(unfit)}: FlashAttention-3 is for Hopper (9.0).",
        )
    if not version.is_known:
        raise MissingFactError(_SUBJECT)
    if not view.value(_SASS) and any(_depends(gpu) for gpu in visible_gpus(view)):
        raise MissingFactError(_SASS)
    return passed(_GPU, _SUBJECT)


def _depends(gpu: Gpu) -> bool:
    """Whether it depends on the build: many hold no code but Hopper's."""
    return gpu.capability.major != _HOPPER


def _fits(view: View, gpu: Gpu) -> bool:
    sass = view.value(_SASS)
    if gpu.capability.major not in (_AMPERE, _HOPPER):
        return False
    if sass:
        return runs_on(sass, view.value("flash_attn_3.ptx", ()), gpu.capability)
    return gpu.capability.major == _HOPPER or gpu.capability in _BIG_SHARED_MEMORY
