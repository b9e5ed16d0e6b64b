"""FD225: a folder or a second copy hides the installed package of the same name."""

from __future__ import annotations

from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model.rule import Severity

_OF_OTHER_RULES = frozenset({"flash_attn", "flash_attn_interface"})
_CORE = frozenset({"torch", "triton", "numpy"})


def judge(view: View) -> Judgement:
    """Hiding torch or what it stands on breaks everything; another package breaks itself."""
    hidden = [name for name in view.need("python.shadowed") or [] if name not in _OF_OTHER_RULES]
    if not hidden:
        return passed("python.shadowed")
    broken = any(name in _CORE or view.requires(name) for name in hidden)
    severity: Severity | None = None if broken else "warning"
    text = "Hidden: " + ", ".join(hidden) + "."
    return failed("python.shadowed", "python.pythonpath", detail=text, severity=severity)
