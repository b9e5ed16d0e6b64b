"""FD710: this vLLM needs pinned memory on WSL 2 and switches it off there by itself."""

from __future__ import annotations

from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model import versions

_FIRST, _MOST_MODELS, _FIXED = ((0, 22), 0), ((0, 25), 0), ((0, 30), 0)
_SWITCH = ((0, 24), 0)
_ON = frozenset({"1", "true"})


def judge(view: View) -> Judgement:
    """Judge the releases whose default model runner holds UVA buffers and has no other way."""
    if view.need("wsl.version") != 2:  # noqa: PLR2004 - WSL's own numbering
        return passed("wsl.version")
    own = versions.order(view.need("vllm.version") or "")
    if own is None or not _FIRST <= own < _FIXED:
        return passed("vllm.version")
    setting = view.value("env.vllm_wsl2_enable_pin_memory", "").strip().lower()
    if setting in _ON and own >= _SWITCH:
        return passed("env.vllm_wsl2_enable_pin_memory")
    if view.value("env.vllm_use_v2_model_runner", "").strip() == "0":
        return passed("env.vllm_use_v2_model_runner")
    switch = "VLLM_WSL2_ENABLE_PIN_MEMORY=1" if own >= _SWITCH else "VLLM_USE_V2_MODEL_RUNNER=0"
    return failed(
        "wsl.version",
        "vllm.version",
        "env.vllm_wsl2_enable_pin_memory",
        values={"advice.switch": switch},
        severity=None if own >= _MOST_MODELS else "warning",
    )
