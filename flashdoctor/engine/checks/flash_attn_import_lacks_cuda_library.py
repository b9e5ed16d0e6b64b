"""FD321: importing flash-attn failed because a CUDA library is not there."""

from __future__ import annotations

from flashdoctor.engine.checks import flash_attn_import_failed
from flashdoctor.engine.view import Judgement, View


def judge(view: View) -> Judgement:
    """Fail where the loader could not open a library of CUDA."""
    return flash_attn_import_failed.judge(view, "cuda library")
