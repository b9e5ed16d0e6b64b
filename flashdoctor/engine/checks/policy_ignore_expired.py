"""FD911: the last day of an ignore of the policy is over."""

from __future__ import annotations

from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed


def judge(view: View) -> Judgement:
    """Name every ignore that has run out, in one finding."""
    if not view.get("policy.file").is_known:
        raise MissingFactError("policy.file")
    expired = view.value("policy.expired") or ()
    if not expired:
        return passed("policy.file")
    return failed("policy.file", "policy.expired", detail=f"Over: {'; '.join(expired)}.")
