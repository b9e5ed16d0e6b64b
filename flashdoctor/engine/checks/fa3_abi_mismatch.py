"""FD333: FlashAttention-3 asks torch for symbols that this torch does not have."""

from __future__ import annotations

from flashdoctor.engine.checks._imports import imports_well
from flashdoctor.engine.checks._symbols import summary
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed

_SUBJECT, _MISSING = "flash_attn_3.version", "flash_attn_3.missing_symbols"
_MODULES = r"flash_attn_interface|flash_attn_3\.flash_attn_interface"


def judge(view: View) -> Judgement:
    """Fail where a symbol is missing and the import was not seen to work."""
    version = view.need(_SUBJECT)
    missing = view.need(_MISSING) if version else None
    if missing is None:
        raise MissingFactError(_MISSING if version else _SUBJECT)
    if not missing or imports_well(view, _MODULES):
        return passed(_MISSING)
    detail = f"FlashAttention-3 {version} needs {summary(missing)}, which this torch does not have."
    return failed(_MISSING, _SUBJECT, "torch.version", detail=detail)
