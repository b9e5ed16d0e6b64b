"""FD912: the stack is not as the policy expects it."""

from __future__ import annotations

from flashdoctor.engine.expectations import Expectation, holds, parse_expectation
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed


def judge(view: View) -> Judgement:
    """Name every expectation that does not hold; skip where one of the rest cannot be told."""
    if not view.get("policy.file").is_known:
        raise MissingFactError("policy.file")
    expected = [parse_expectation(text) for text in view.value("policy.expect") or ()]
    told = {each: holds(each, view.snapshot) for each in expected}
    unmet = [each for each, truth in told.items() if truth is False]
    if unmet:
        said = "; ".join(_said(each, view) for each in unmet)
        return failed(*(each.path for each in unmet), "policy.file", detail=f"Not met: {said}.")
    for each, truth in told.items():
        if truth is None:
            raise MissingFactError(each.path)
    return passed("policy.file", *(each.path for each in expected))


def _said(unmet: Expectation, view: View) -> str:
    value = view.value(unmet.path)
    if isinstance(value, list):
        value = ", ".join(map(str, value)) or "nothing"
    return f"{unmet.text} ({'not there' if value is None else f'it is {value}'})"
