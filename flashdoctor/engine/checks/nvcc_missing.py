"""FD501: something has to be compiled, and there is no nvcc."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import at_least
from flashdoctor.engine.flash_wheels import must_compile
from flashdoctor.engine.view import Judgement, View, failed, passed

_NVCC = "toolkit.version"
_COMPILING_VLLM = "0.21"  # from here on it samples with FlashInfer unless told otherwise
_COMPILING_GPTQMODEL = "6.1"  # from here on its kernels are compiled when first used


def judge(view: View) -> Judgement:
    """Fail for a build of flash-attn, warn for packages that compile while they run."""
    if must_compile(view):
        if view.need(_NVCC) is not None:
            return passed(_NVCC)
        detail = "flash-attn has to be compiled here, and no nvcc was found."
        return failed(_NVCC, "toolkit.home", "torch.version", detail=detail)
    compiling = _compiling_at_run_time(view)
    if not compiling or view.need(_NVCC) is not None:
        return passed(*compiling)
    detail = f"{' and '.join(compiling.values())}, and no nvcc was found."
    return failed(_NVCC, *compiling, detail=detail, severity="warning")


def _compiling_at_run_time(view: View) -> dict[str, str]:
    """Return the packages that need nvcc at run time, by fact, with the reason in words."""
    found = {}
    vllm, flashinfer = view.value("vllm.version"), view.value("flashinfer.version")
    no_cubins = view.get("flashinfer_cubin.version").state == "absent"
    if vllm and flashinfer and no_cubins and at_least(vllm, _COMPILING_VLLM):
        found["flashinfer.version"] = f"vLLM {vllm} samples with FlashInfer, which compiles"
    gptq = view.value("gptqmodel.version")
    if gptq and at_least(gptq, _COMPILING_GPTQMODEL):
        found["gptqmodel.version"] = f"gptqmodel {gptq} compiles its kernels when first used"
    return found
