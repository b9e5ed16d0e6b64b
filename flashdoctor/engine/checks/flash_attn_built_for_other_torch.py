"""FD302: the wheel was compiled against another torch release."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import installed_version, loads
from flashdoctor.engine.checks._wheels import wheel_advice
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions

_BUILT, _RUNNING = "flash_attn.wheel.torch", "torch.minor"
_MEASURED_TO_LOAD = {("2.10", "2.11"), ("2.10", "2.12")}
"""Wheels for the first torch that passed the package's tests on the second, and no further:
unslothai/unsloth pull requests 6970 and 7495."""


def judge(view: View) -> Judgement:
    """Compare torch X.Y of the wheel with the one that is there; proof by symbols wins."""
    version = installed_version(view)
    if loads(view):
        return passed("flash_attn.missing_symbols", "live.imports")
    built, running = versions.minor(view.need(_BUILT) or ""), view.need(_RUNNING)
    if built is None or running is None:
        raise MissingFactError(_BUILT if built is None else _RUNNING)
    if built == running:
        return passed(_BUILT, _RUNNING)
    return failed(
        _BUILT,
        "torch.version",
        detail=f"flash-attn {version} was built for torch {built}, torch {running} is installed.",
        values=wheel_advice(view),
        severity="warning" if (built, running) in _MEASURED_TO_LOAD else None,
    )
