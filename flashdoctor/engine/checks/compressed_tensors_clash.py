"""FD620: compressed-tensors is not the one that vLLM pins."""

from __future__ import annotations

from flashdoctor.engine.checks._vllm import installed_version, is_row_of, release_row
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.specifiers import fits

_OWN, _OTHER = "compressed_tensors.version", "llmcompressor.version"


def judge(view: View) -> Judgement:
    """Compare with the pin of this very release; llmcompressor is the usual one to move it."""
    vllm = installed_version(view)
    own = view.need(_OWN)
    row = release_row(view)
    if row is None or "compressed_tensors" not in row or own is None:
        raise MissingFactError(_OWN)
    pin = str(row["compressed_tensors"])
    if fits(own, pin):
        return passed(_OWN)
    if not is_row_of(row, vllm):
        raise MissingFactError(_OWN)
    other = view.value(_OTHER)
    why = f", as llmcompressor {other} wants it" if other else ""
    detail = f"vLLM {vllm} asks for compressed-tensors{pin}, {own} is installed{why}."
    return failed(_OWN, "vllm.version", _OTHER, detail=detail, values={"advice.pin": pin})
