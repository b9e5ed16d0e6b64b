"""FD508: Python.h is missing where something has to be compiled against it."""

from __future__ import annotations

from flashdoctor.engine.flash_wheels import must_compile
from flashdoctor.engine.view import Judgement, View, failed, passed

_HEADERS, _PYTHON = "python.headers", "python.version"


def judge(view: View) -> Judgement:
    """Look for the headers where flash-attn has to be compiled; FD106 has Triton's need of them."""
    if not must_compile(view):
        return passed()
    if view.need(_HEADERS):
        return passed(_HEADERS)
    detail = f"flash-attn has to be compiled, and Python {view.value(_PYTHON, '')} has no Python.h."
    return failed(_HEADERS, _PYTHON, detail=detail)
