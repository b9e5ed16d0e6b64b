"""FD611: transformers will say that flash_attention_2 is not available."""

from __future__ import annotations

from collections.abc import Callable

from flashdoctor.engine.checks import (
    cxx11_abi_mismatch,
    flash_attn_abi_mismatch,
    flash_attn_arch_not_built,
    flash_attn_built_for_other_torch,
    flash_attn_needs_ampere,
)
from flashdoctor.engine.checks._flash_attn import at_least, installed_version
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed

_OWN, _FLOOR, _SUBJECT = "transformers.version", "transformers.min_flash_attn", "flash_attn.version"
_BROKEN: tuple[Callable[[View], Judgement], ...] = (
    flash_attn_abi_mismatch.judge,
    flash_attn_built_for_other_torch.judge,
    cxx11_abi_mismatch.judge,
    flash_attn_arch_not_built.judge,
    flash_attn_needs_ampere.judge,
)


def judge(view: View) -> Judgement:
    """Compare flash-attn with the floor of transformers; warn where flash-attn is broken anyway."""
    own = view.need(_OWN)
    if own is None:
        raise MissingFactError(_OWN)
    version, floor = installed_version(view), view.need(_FLOOR)
    if floor is None:
        raise MissingFactError(_FLOOR)
    if not at_least(version, floor):
        detail = f"transformers {own} asks for flash-attn {floor} or newer, {version} is installed."
        return failed(_SUBJECT, _FLOOR, _OWN, detail=detail)
    for broken in filter(None, (_failure(view, check) for check in _BROKEN)):
        return failed(_SUBJECT, _OWN, detail=broken.detail, severity="warning")
    return passed(_SUBJECT, _FLOOR)


def _failure(view: View, check: Callable[[View], Judgement]) -> Judgement | None:
    try:
        judgement = check(view)
    except MissingFactError:
        return None
    return judgement if judgement.outcome == "fail" else None
