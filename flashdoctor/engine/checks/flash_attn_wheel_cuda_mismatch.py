"""FD314: the wheel of flash-attn is for another CUDA major than torch's."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import installed_version, loads
from flashdoctor.engine.flash_wheels import wheel_advice
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions

_NEEDED, _TAG, _TORCH = "flash_attn.extension_needed", "flash_attn.wheel.cuda", "torch.cuda"


def judge(view: View) -> Judgement:
    """Compare majors by the wheel's name; FD212 judges what an extension on disk really links."""
    version = installed_version(view)
    if view.get(_NEEDED).is_known or loads(view):
        return passed(_NEEDED, "live.imports")
    torch, major = view.need(_TORCH), versions.major(view.need(_TAG) or "")
    if torch is None or major is None:
        raise MissingFactError(_TORCH if torch is None else _TAG)
    if major == versions.major(torch):
        return passed(_TAG, _TORCH)
    return failed(
        _TAG,
        _TORCH,
        "torch.version",
        detail=f"The wheel of flash-attn {version} links CUDA {major}, torch brings CUDA {torch}.",
        values=wheel_advice(view),
    )
