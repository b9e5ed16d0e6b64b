"""FD504: CUDA_HOME does not name a toolkit's folder."""

from __future__ import annotations

from flashdoctor.engine.flash_wheels import must_compile
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.rule import Severity

_PROBLEM = "toolkit.home_problem"


def judge(view: View) -> Judgement:
    """Repeat what is wrong with the variable; an error where something has to be compiled."""
    problem = view.need(_PROBLEM)
    if problem is None:
        return passed(_PROBLEM)
    severity: Severity | None = None if _matters(view) else "info"
    return failed(_PROBLEM, "toolkit.home", detail=f"CUDA_HOME: {problem}.", severity=severity)


def _matters(view: View) -> bool:
    try:
        return must_compile(view)
    except MissingFactError:
        return False
