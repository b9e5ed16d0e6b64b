"""FD311: the flash-attn wheel was built for another Python."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import installed_version
from flashdoctor.engine.flash_wheels import wheel_advice
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.regex import regex

_SEEN, _TAG, _ABI, _OWN = (
    "flash_attn.extension_python",
    "flash_attn.wheel.python",
    "flash_attn.wheel.abi",
    "python.tag",
)
_CPYTHON = regex(r"cp(\d)(\d+)(t?)")


def judge(view: View) -> Judgement:
    """Compare the tag of the extension's file, else of the wheel, with the interpreter's."""
    installed_version(view)
    path = _SEEN if view.get(_SEEN).is_known else _TAG
    tag, own = view.need(path), view.need(_OWN)
    if tag is None or own is None:
        raise MissingFactError(path if tag is None else _OWN)
    abi = view.value(_ABI, "") if path == _TAG else ""
    if _takes(own, tag, abi):
        return passed(path, _OWN)
    return failed(
        path,
        _OWN,
        "flash_attn.wheel.file",
        detail=f"The flash-attn wheel is for {tag}, the interpreter is {own}.",
        values=wheel_advice(view),
    )


def _takes(own: str, tag: str, abi: str) -> bool:
    """Whether an interpreter takes a wheel; `abi3` and pure wheels fit later interpreters too."""
    if abi == "abi3":
        return _order(own) >= _order(tag)
    if not tag.startswith("cp"):
        return True
    return own == (abi if _CPYTHON.fullmatch(abi) else tag)


def _order(tag: str) -> tuple[int, int]:
    match = _CPYTHON.fullmatch(tag)
    return (int(match[1]), int(match[2])) if match else (0, 0)
