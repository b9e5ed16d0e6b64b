"""FD416: no kernel name proves sdpa, though its cases were run."""

from __future__ import annotations

from flashdoctor.engine.checks._smoke import judge_proof
from flashdoctor.engine.view import Judgement, View


def judge(view: View) -> Judgement:
    """Demand a kernel that really ran."""
    return judge_proof(view, "sdpa")
