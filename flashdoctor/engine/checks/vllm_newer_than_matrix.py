"""A release of vllm that came after the matrix."""

from __future__ import annotations

from flashdoctor.engine.checks._newest import compare
from flashdoctor.engine.view import Judgement, View


def judge(view: View) -> Judgement:
    """Compare with the newest release in the table."""
    return compare(view, "vllm")
