"""FD316: the wheel's name says one C++ ABI, the build has the other."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import installed_version, is_windows, loads, new_abi
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed

_TAG = "flash_attn.wheel.cxx11_abi"


def judge(view: View) -> Judgement:
    """Compare the tag with what the symbols, or the builds of that release, say."""
    installed_version(view)
    tag = view.need(_TAG)
    if tag is None:
        raise MissingFactError(_TAG)
    own, path = new_abi(view)
    if own == tag or is_windows(view):
        return passed(_TAG, path)
    words = ("FALSE", "new") if own else ("TRUE", "old")
    detail = f"The wheel is called cxx11abi{words[0]} and has the {words[1]} ABI."
    return failed(
        *dict.fromkeys((_TAG, path)),
        "flash_attn.wheel.file",
        detail=detail,
        severity="info" if loads(view) else None,
    )
