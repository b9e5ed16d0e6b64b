"""The last line of a smoke report: what SDPA picks by itself here, and whether that is good."""

from __future__ import annotations

from flashdoctor.model.smoke import FUSED, SmokeCase, SmokeReport
from flashdoctor.render.kernel_names import family_words
from flashdoctor.render.smoke_table import gain_text

_CLOSE = 1.1  # less than a tenth is no difference that anyone should act on
_NAMES = {
    "flash-attn": "flash-attn",
    "fa3": "FlashAttention-3",
    "fa4": "FlashAttention-4",
    "flex": "flex_attention",
}


def default_text(report: SmokeReport) -> str:
    """Return a sentence or two, an empty text where the default was not timed."""
    default = next((item for item in report.cases if _is_default(item)), None)
    if default is None:
        return ""
    words = f"Your SDPA default is {family_words(default.family)}"
    if default.family == "math":
        return _of_math(words, report)
    rivals = _others([item for item in report.cases if _is_rival(item)], default)
    best = min(rivals, key=lambda item: item.ms or 0.0, default=None)
    gain = best.gain_over_default if best else None
    if best and gain and gain > _CLOSE:
        return f"{words}; {_name(best)} is {gain_text(gain)} faster here."
    flash = next((item for item in rivals if item.case.api == "flash-attn"), best)
    sound = report.verdict == "pass" and not report.findings
    return f"{words}{_compared(flash)}." + (" Nothing to fix." if sound else "")


def _is_default(item: SmokeCase) -> bool:
    case, timed = item.case, item.ms is not None and item.status in {"proven", "other"}
    plain = case.main and not case.refusal
    return case.api == "sdpa" and case.backend == "default" and plain and timed


def _is_rival(item: SmokeCase) -> bool:
    """Whether this could be had instead: proven, fused, timed on the same call."""
    fused = item.proven and item.family in FUSED
    return fused and item.gain_over_default is not None and not _is_default(item)


def _others(rivals: list[SmokeCase], default: SmokeCase) -> list[SmokeCase]:
    """Return the rivals that are not the kernel which the default runs anyway."""
    return [item for item in rivals if item.family != default.family or item.case.api != "sdpa"]


def _compared(rival: SmokeCase | None) -> str:
    gain = rival.gain_over_default if rival else None
    if rival is None or not gain:
        return ""
    if gain > 1 / _CLOSE:
        return f", as fast as {_name(rival)} here"
    return f", {gain_text(1 / gain)} faster than {_name(rival)} here"


def _name(item: SmokeCase) -> str:
    return _NAMES.get(item.case.api) or family_words(item.family)


def _of_math(words: str, report: SmokeReport) -> str:
    fused = [item.gain_over_math for item in report.cases if _is_rival(item)]
    best = max((gain for gain in fused if gain), default=None)
    more = f" A fused kernel is {gain_text(best)} faster here." if best else ""
    return f"{words}, which writes out all scores.{more}"
