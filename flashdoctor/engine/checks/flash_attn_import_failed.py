"""FD315: importing flash-attn after torch failed, and not for want of a library."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import MODULES
from flashdoctor.engine.checks._imports import failed_import, kind_of_error
from flashdoctor.engine.view import Judgement, View, failed, passed


def judge(view: View, kind: str = "other") -> Judgement:
    """Fail where the import failed with this kind of error."""
    error = failed_import(view, MODULES)
    if error is None or kind_of_error(error) != kind:
        return passed("live.imports")
    return failed("live.imports", "flash_attn.version", detail=error)
