"""FD419: transformers was asked for one attention implementation, and another kernel ran."""

from __future__ import annotations

from flashdoctor.engine.checks._smoke import advice, cases_that_ran, describe
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed


def judge(view: View) -> Judgement:
    """Look at the cases of transformers that ran: a replacement in silence is what to tell."""
    ran = [case for case in cases_that_ran(view) if case.get("api") == "transformers"]
    named = [case for case in ran if case.get("status") in ("proven", "other")]
    if not named:
        raise MissingFactError("smoke.proven")
    replaced = [case for case in named if case["status"] == "other" and not case.get("as_expected")]
    if not replaced:
        return passed("smoke.cases")
    first = replaced[0]
    return failed("smoke.faults", detail=describe(first), values=advice(first))
