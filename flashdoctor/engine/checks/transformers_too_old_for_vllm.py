"""FD613: transformers is older than this vLLM asks for."""

from __future__ import annotations

from flashdoctor.engine.checks._vllm import (
    installed_version,
    is_from_matrix,
    is_row_of,
    release_row,
    row_before,
)
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.specifiers import below, lower_bound

_PIN, _OWN = "vllm.transformers_pin", "transformers.version"


def judge(view: View) -> Judgement:
    """Compare transformers with the lower end of the pin, as far as it is certain."""
    vllm = installed_version(view)
    pin, own = view.need(_PIN), view.need(_OWN)
    if pin is None or own is None:
        raise MissingFactError(_PIN if pin is None else _OWN)
    if not below(own, pin):
        return passed(_PIN, _OWN)
    certain = _certain_pin(view, vllm)
    if not below(own, certain):
        raise MissingFactError(_PIN)
    return failed(
        _OWN,
        _PIN,
        "vllm.version",
        detail=f"vLLM {vllm} asks for transformers {lower_bound(certain)} or newer, "
        f"{own} is installed.",
        values={"advice.transformers": pin},
    )


def _certain_pin(view: View, vllm: str) -> str:
    """Return the pin of this release, or of the X.Y before where only a later patch was read."""
    fact, row = view.get(_PIN), release_row(view)
    if row is None or not is_from_matrix(fact) or is_row_of(row, vllm):
        return str(fact.value)
    before = row_before(view, row)
    return str(before["transformers"]) if before else ""
