"""FD313: flash-attn was linked against a newer glibc than this system has."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import (
    Row,
    at_least,
    glibc_needed,
    installed_version,
    is_official_name,
    is_stated,
    release_row,
)
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.regex import regex

_SEEN, _WHEEL, _OWN = "flash_attn.extension_glibc", "flash_attn.wheel.glibc", "os.glibc"
_MANYLINUX = regex(r"manylinux_(\d+)_(\d+)_\w+")


def judge(view: View) -> Judgement:
    """Compare what the extension asks for, else what the official wheel does, with the system."""
    version = installed_version(view)
    own = view.need(_OWN)
    if own is None:
        raise MissingFactError(_OWN)
    ready = _of_wheel_that_pip_takes(view)
    if ready and not at_least(own, ready):
        detail = f"The ready wheel of flash-attn {version} needs glibc {ready}, this system has "
        detail += f"{own}; a build made here would not."
        return failed(_WHEEL, _OWN, "os.distribution", detail=detail, severity="warning")
    needed, path = _needed(view, own)
    if at_least(own, needed):
        return passed(path, _OWN)
    detail = f"flash-attn {version} needs glibc {needed}, this system has {own}."
    return failed(path, _OWN, "os.distribution", detail=detail)


def _of_wheel_that_pip_takes(view: View) -> str | None:
    """Return what the wheel needs that setup.py fetches, where only the version was stated."""
    seen = view.get(_SEEN).is_known or view.get("flash_attn.wheel.platform").is_known
    row = release_row(view)
    if seen or row is None or view.value("torch.minor") not in row["wheel_torch_minors"]:
        return None
    return glibc_needed(row)


def _needed(view: View, own: str) -> tuple[str, str]:
    for path in (_SEEN, _WHEEL):
        if is_stated(view, path):
            return str(view.value(path)), path
    tag = _MANYLINUX.fullmatch(view.value("flash_attn.wheel.platform", ""))
    if tag:
        return f"{tag[1]}.{tag[2]}", "flash_attn.wheel.platform"
    row = release_row(view) if is_official_name(view) else None
    needed = _of_official_wheel(row, own) if row else None
    if needed is None:
        raise MissingFactError(_SEEN)
    return needed, "flash_attn.wheel.file"


def _of_official_wheel(row: Row, own: str) -> str | None:
    """Return what is needed for sure, or the most that can be needed where that is there."""
    ceiling: str | None = row.get("wheel_glibc_ceiling")
    return glibc_needed(row) or (ceiling if ceiling and at_least(own, ceiling) else None)
