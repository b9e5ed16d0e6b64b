"""FD608: vLLM's own copy of flash-attn is missing or cannot be loaded."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import at_least
from flashdoctor.engine.checks._gpus import visible_gpus
from flashdoctor.engine.checks._imports import failed_import
from flashdoctor.engine.checks._symbols import summary
from flashdoctor.engine.checks._vllm import installed_version
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.versions import Capability

_BUNDLED, _SYMBOLS, _SEPARATE = (
    "vllm.bundled",
    "vllm.fa2.missing_symbols",
    "vllm_flash_attn.version",
)
_MODULES = r"vllm\.vllm_flash_attn\._vllm_fa2_C"
_FROM_BUNDLE, _FROM_PACKAGE = "0.6.2", "0.4.3"
_FIRST_GPU = Capability(8, 0)


def judge(view: View) -> Judgement:
    """Look for the kernels on disk, their symbols, and what the live import said."""
    version = installed_version(view)
    if not at_least(version, _FROM_PACKAGE) or _nobody_uses_it(view):
        return passed("vllm.version")
    if not at_least(version, _FROM_BUNDLE):
        return _judge_package(view, version)
    symbols = view.value(_SYMBOLS)
    if symbols:
        return _fail(
            _SYMBOLS,
            f"Its FlashAttention-2 needs {summary(symbols)}, which this torch does not have.",
        )
    error = _import_error(view)
    if error:
        return _fail("live.imports", error)
    bundled = view.need(_BUNDLED)
    if bundled is None or view.value("os.system", "Linux") != "Linux":
        raise MissingFactError(_BUNDLED)
    if "fa2" in bundled:
        return passed(_BUNDLED)
    return _fail(_BUNDLED, f"vLLM {version} came without its FlashAttention-2.")


def _nobody_uses_it(view: View) -> bool:
    """Whether no visible GPU could run it anyway."""
    try:
        return all(gpu.capability < _FIRST_GPU for gpu in visible_gpus(view))
    except MissingFactError:
        return False


def _judge_package(view: View, version: str) -> Judgement:
    if view.need(_SEPARATE) is not None:
        return passed(_SEPARATE)
    return _fail(
        _SEPARATE, f"vLLM {version} takes FlashAttention from the package vllm-flash-attn."
    )


def _import_error(view: View) -> str | None:
    try:
        return failed_import(view, _MODULES)
    except MissingFactError:
        return None


def _fail(path: str, detail: str) -> Judgement:
    return failed(path, "vllm.version", "torch.version", detail=detail)
