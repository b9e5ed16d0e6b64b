"""FD419: transformers was asked for one attention implementation, and another kernel ran."""

from __future__ import annotations

from flashdoctor.engine.checks._smoke import Case, advice, cases_that_ran, describe
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed


def judge(view: View) -> Judgement:
    """Look at the cases of transformers that ran: a replacement in silence is what to tell."""
    ran = [case for case in cases_that_ran(view) if case.get("api") == "transformers"]
    named = [case for case in ran if case.get("status") in ("proven", "other")]
    replaced = [case for case in ran if _is_replaced(case)]
    if not (named or replaced):
        raise MissingFactError("smoke.proven")
    if not replaced:
        return passed("smoke.cases")
    first = replaced[0]
    return failed("smoke.faults", detail=describe(first), values=advice(first))


def _is_replaced(case: Case) -> bool:
    """Whether transformers says that it took another one, or a kernel's name says so."""
    other = case.get("status") == "other" and not case.get("as_expected")
    return other or bool(case.get("replaced_by"))
