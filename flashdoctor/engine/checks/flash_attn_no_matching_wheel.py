"""FD317: no official wheel fits, so that installing flash-attn means compiling it."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import is_windows
from flashdoctor.engine.flash_wheels import must_compile
from flashdoctor.engine.view import Judgement, View, failed, passed


def judge(view: View) -> Judgement:
    """Look through every release; Windows has a rule of its own."""
    if is_windows(view) or not must_compile(view):
        return passed("flash_attn.version")
    parts = {
        "torch": view.value("torch.version"),
        "Python": view.value("python.tag"),
        "platform": view.value("os.platform"),
        "glibc": view.value("os.glibc"),
        "GPU": view.value("gpu.name"),
    }
    known = ", ".join(f"{name} {value}" for name, value in parts.items() if value)
    return failed(
        "torch.version",
        "python.tag",
        "os.platform",
        detail=f"No release of flash-attn has a wheel for {known}.",
    )
