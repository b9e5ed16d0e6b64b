"""FD420: an attention call that should work was refused, failed, or ran another kernel."""

from __future__ import annotations

from flashdoctor.engine.checks._smoke import (
    advice,
    cases_that_ran,
    causes_of,
    describe,
    is_fault,
    lacks_package,
    worst_first,
)
from flashdoctor.engine.view import Judgement, View, failed, passed

_TOLD = ("error", "refused", "other")


def judge(view: View) -> Judgement:
    """Name the gravest case; deaths and wrong outputs have rules of their own."""
    faulty = [case for case in cases_that_ran(view) if is_fault(case) and not lacks_package(case)]
    told = worst_first(case for case in faulty if case.get("status") in _TOLD)
    if not told:
        return passed("smoke.cases")
    first = told[0]
    more = f" {len(told) - 1} more ended so." if len(told) > 1 else ""
    return failed(
        "smoke.faults",
        detail=describe(first) + more,
        cause=next((cause for case in told for cause in causes_of(case)), None),
        values=advice(first),
    )
