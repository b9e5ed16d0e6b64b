"""FD412: SDPA left to itself runs math, which writes out all scores."""

from __future__ import annotations

from flashdoctor.engine.checks._smoke import (
    Case,
    advice,
    cases_that_ran,
    causes_of,
    components_of,
    describe,
)
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed


def judge(view: View) -> Judgement:
    """Look at the calls that a fused kernel should take; a refusal that is due is none of them."""
    ran = [case for case in cases_that_ran(view) if _is_plain_default(case)]
    named = [case for case in ran if case.get("family")]
    if not named:
        raise MissingFactError("smoke.proven")
    on_math = [case for case in named if case["family"] == "math"]
    if not on_math:
        return passed("smoke.cases")
    first = on_math[0]
    cause = next((cause for case in on_math for cause in causes_of(case)), None)
    return failed("smoke.faults", detail=describe(first), cause=cause, values=advice(first))


def _is_plain_default(case: Case) -> bool:
    return case.get("backend") == "default" and "sdpa" in components_of(case)
