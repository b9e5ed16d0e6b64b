"""FD626: which FlashAttention vLLM takes on this GPU, where that is not the obvious one."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import at_least
from flashdoctor.engine.checks._gpus import visible_gpus
from flashdoctor.engine.checks._vllm import installed_version
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model.versions import Capability

_GPU = "gpu.compute_capability"
_FA4_FROM, _FLASHINFER_FROM = "0.17", "0.11.1"


def judge(view: View) -> Judgement:
    """Say it below 8.0 and from Blackwell on; elsewhere 8.x has FA2 and 9.x has FA3."""
    vllm = installed_version(view)
    gpu = visible_gpus(view)[0]
    choice = chosen(vllm, gpu.capability)
    if not choice:
        return passed(_GPU, "vllm.version")
    return failed(_GPU, "gpu.name", "vllm.version", detail=f"{gpu}, vLLM {vllm}: {choice}.")


def chosen(vllm: str, capability: Capability) -> str:
    """Return what is worth saying about vLLM's choice on this GPU, or an empty text."""
    if capability.major < 8:  # noqa: PLR2004 - Ampere
        return "no FlashAttention, another backend serves"
    if capability.major == 10:  # noqa: PLR2004 - data-centre Blackwell
        flash = "FlashAttention-4" if at_least(vllm, _FA4_FROM) else "FlashAttention-2"
        first = "FlashInfer before " if at_least(vllm, _FLASHINFER_FROM) else ""
        return first + flash
    return "FlashAttention-2" if capability.major > 10 else ""  # noqa: PLR2004 - the same
