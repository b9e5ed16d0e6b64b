"""FD411: an attention call took the process down, lost the GPU's context, or never ended."""

from __future__ import annotations

from flashdoctor.engine.checks._smoke import advice, cases_that_ran, causes_of, describe
from flashdoctor.engine.view import Judgement, View, failed, passed


def judge(view: View) -> Judgement:
    """Name each case that died or overran its limit."""
    dead = [case for case in cases_that_ran(view) if case.get("status") in ("died", "timeout")]
    if not dead:
        return passed("smoke.cases")
    first = dead[0]
    more = f" {len(dead) - 1} more ended so." if len(dead) > 1 else ""
    return failed(
        "smoke.faults",
        detail=describe(first) + more,
        cause=next(iter(causes_of(first)), None),
        values=advice(first),
    )
