"""FD322: importing flash-attn failed because the system's C or C++ library is too old."""

from __future__ import annotations

from flashdoctor.engine.checks import flash_attn_import_failed
from flashdoctor.engine.view import Judgement, View


def judge(view: View) -> Judgement:
    """Fail where the loader missed a version of GLIBC or GLIBCXX."""
    return flash_attn_import_failed.judge(view, "system library")
