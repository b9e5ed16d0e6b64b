"""FD622: VLLM_ATTENTION_BACKEND or VLLM_FLASH_ATTN_VERSION asks for what cannot be had."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import at_least
from flashdoctor.engine.checks._gpus import Gpu, named, visible_gpus
from flashdoctor.engine.checks._vllm import installed_version
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.versions import Capability

_BACKEND, _VERSION = "env.vllm_attention_backend", "env.vllm_flash_attn_version"
_GPU = "gpu.compute_capability"
_IGNORED_FROM = "0.15"
_FLASH = ("FLASH_ATTN", "FLASH_ATTN_VLLM_V1")
_GONE = (
    ("FLASH_ATTN_VLLM_V1", "0.6.4", "0.11"),
    ("TRITON_ATTN_VLLM_V1", "0.6.4", "0.11"),
    ("FLASHINFER_VLLM_V1", "0.6.4", "0.11"),
    ("XFORMERS", "0", "0.12"),
)
"""A name, the first vLLM that knows it and the first that no longer does."""
_FA3_CAPABILITIES = {(8, 0), (8, 7), (9, 0)}


def judge(view: View) -> Judgement:
    """Judge both variables, where this vLLM still reads them (up to 0.14)."""
    vllm = installed_version(view)
    if at_least(vllm, _IGNORED_FROM):
        return passed("vllm.version")
    for problem in (_backend_problem(view, vllm), _version_problem(view)):
        if problem:
            return failed(_BACKEND, _VERSION, _GPU, "vllm.version", detail=problem)
    return passed(_BACKEND, _VERSION)


def _backend_problem(view: View, vllm: str) -> str:
    choice = str(view.need(_BACKEND) or "").upper()
    for name, first, gone in _GONE:
        if name == choice and not (at_least(vllm, first) and not at_least(vllm, gone)):
            return f"vLLM {vllm} has no attention backend {choice}."
    old = [gpu for gpu in _gpus(view) if gpu.capability < Capability(8, 0)]
    if choice in _FLASH and old:
        return f"{choice} needs compute capability 8.0; here: {named(old)}."
    return ""


def _version_problem(view: View) -> str:
    choice = view.need(_VERSION)
    if choice != "3":
        return ""
    unfit = [
        gpu
        for gpu in _gpus(view)
        if gpu.capability < Capability(10, 0) and gpu.capability not in _FA3_CAPABILITIES
    ]
    return f"FlashAttention-3 does not run on {named(unfit)}." if unfit else ""


def _gpus(view: View) -> list[Gpu]:
    try:
        return visible_gpus(view)
    except MissingFactError:
        return []
