"""FD301: the extension asks torch for symbols that this torch does not have."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import installed_version, loads
from flashdoctor.engine.checks._symbols import summary
from flashdoctor.engine.flash_wheels import wheel_advice
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed

_PATH = "flash_attn.missing_symbols"


def judge(view: View) -> Judgement:
    """Fail where a symbol is missing: such an extension cannot be loaded."""
    version = installed_version(view)
    if loads(view):
        return passed(_PATH, "live.imports")
    missing = view.need(_PATH)
    if missing is None:
        raise MissingFactError(_PATH)
    return failed(
        _PATH,
        "flash_attn.version",
        "torch.version",
        detail=(
            f"flash-attn {version} needs {summary(missing)}, "
            f"which torch {view.value('torch.version', '')} does not have."
        ),
        values=wheel_advice(view),
    )
