"""FD507: a Python module that flash-attn's setup.py imports is not there."""

from __future__ import annotations

from flashdoctor.engine.flash_wheels import must_compile
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed

_IMPORTED = ("packaging", "psutil", "setuptools", "wheel")
_FASTER = "ninja"


def judge(view: View) -> Judgement:
    """Name what is missing; without ninja alone the build works, slowly."""
    if not must_compile(view):
        return passed()
    states = {name: view.get(f"{name}.version").state for name in (*_IMPORTED, _FASTER)}
    missing = [name for name, state in states.items() if state == "absent"]
    if not missing:
        for name, state in states.items():
            if state == "unknown":
                raise MissingFactError(f"{name}.version")
        return passed(*(f"{name}.version" for name in states))
    only_slow = missing == [_FASTER]
    detail = (
        "A build without ninja compiles one file at a time."
        if only_slow
        else (f"Not installed: {', '.join(missing)}.")
    )
    return failed(
        *(f"{name}.version" for name in missing),
        detail=detail,
        values={"advice.packages": " ".join(missing)},
        severity="warning" if only_slow else None,
    )
