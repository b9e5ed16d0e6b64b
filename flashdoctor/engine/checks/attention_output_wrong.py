"""FD410: attention ran on this GPU, and its output differs from the float64 reference."""

from __future__ import annotations

from flashdoctor.engine.checks._smoke import advice, cases_that_ran, describe
from flashdoctor.engine.view import Judgement, View, failed, passed

_OF_CUDNN = "sdpa-cudnn-backend-fault"


def judge(view: View) -> Judgement:
    """Name each wrong case and its kernel family."""
    wrong = [case for case in cases_that_ran(view) if case.get("status") == "wrong"]
    if not wrong:
        return passed("smoke.cases")
    first = wrong[0]
    more = f" {len(wrong) - 1} more are wrong." if len(wrong) > 1 else ""
    family = first.get("family") or first.get("expected_family")
    return failed(
        "smoke.faults",
        detail=describe(first) + more,
        cause=_OF_CUDNN if family == "cudnn" else None,
        values=advice(first),
    )
