"""FD342: FlashAttention-4 on a GPU that it refuses, or does not promise."""

from __future__ import annotations

from flashdoctor.engine.checks._gpus import named, visible_gpus
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed

_SUBJECT, _GPU = "flash_attn_4.version", "gpu.compute_capability"
_LOWEST = 8
_PROMISED = (9, 10, 11)


def judge(view: View) -> Judgement:
    """Fail below 8.0; warn where the newest code has a path that nobody advertises (8.x, 12.x)."""
    version = view.get(_SUBJECT)
    if not version.is_known and not view.requires("fa4"):
        raise MissingFactError(_SUBJECT)
    gpus = visible_gpus(view)
    old = [gpu for gpu in gpus if gpu.capability.major < _LOWEST]
    other = [gpu for gpu in gpus if gpu.capability.major not in _PROMISED]
    if old:
        return failed(_GPU, _SUBJECT, detail=f"{named(old)}: FlashAttention-4 starts at 8.0.")
    if other:
        detail = f"{named(other)}: only the newest builds run there, and none is promised to."
        return failed(_GPU, _SUBJECT, detail=detail, severity="warning")
    if not version.is_known:
        raise MissingFactError(_SUBJECT)
    return passed(_GPU, _SUBJECT)
