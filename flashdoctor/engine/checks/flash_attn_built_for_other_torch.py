"""FD302: the wheel was compiled against another torch release."""

from __future__ import annotations

import re

from flashdoctor.engine.checks._flash_attn import (
    installed_version,
    is_official_name,
    loads,
    release_row,
)
from flashdoctor.engine.flash_wheels import wheel_advice
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions

_BUILT, _RUNNING = "flash_attn.wheel.torch", "torch.minor"
_TORCH, _RELEASED = "torch.version", re.compile(r"\d+(\.\d+)*(\+\w+)?")
_KNOWN_TO_FAIL = (("2.3.0.dev", "2.3"), ("2.2.2", "2.2.0"))
"""What a wheel was built against and torch releases that lack symbols which it asks for
(Dao-AILab/flash-attention issue 931, for both)."""
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
        return _judge_patch(view, version, built)
    return failed(
        _BUILT,
        "torch.version",
        detail=f"flash-attn {version} was built for torch {built}, torch {running} is installed.",
        values=wheel_advice(view),
        severity="warning" if (built, running) in _MEASURED_TO_LOAD else None,
    )


def _judge_patch(view: View, version: str, built: str) -> Judgement:
    """Doubt official wheels that were built against a nightly of the release that is there."""
    running = str(view.value(_TORCH, ""))
    against = _built_against(view, built)
    plain = versions.public(running)
    fails = any(
        against.startswith(first) and (plain == last or plain.startswith(f"{last}."))
        for first, last in _KNOWN_TO_FAIL
    )
    if _RELEASED.fullmatch(running) is None or not (fails or ".dev" in against):
        return passed(_BUILT, _RUNNING)
    return failed(
        _BUILT,
        _TORCH,
        detail=f"This wheel of flash-attn {version} was built against torch {against}, "
        f"torch {running} is installed.",
        values=wheel_advice(view),
        severity=None if fails else "warning",
    )


def _built_against(view: View, built: str) -> str:
    """Return the very torch that the release's own wheels for X.Y were built against, if known."""
    row = release_row(view) if is_official_name(view) else None
    known = row.get("wheel_torch_built_against", ()) if row else ()
    return next((text for text in known if versions.minor(text) == built), "")
