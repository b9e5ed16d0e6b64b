"""FD616: FlashInfer is not the one that vLLM was tested with."""

from __future__ import annotations

from flashdoctor.engine.checks._vllm import (
    installed_version,
    is_from_matrix,
    is_row_of,
    release_row,
)
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.specifiers import fits

_OWN, _PIN = "flashinfer.version", "vllm.flashinfer_pin"


def judge(view: View) -> Judgement:
    """Compare the pin, where it was read of this very release: patches of one X.Y differ in it."""
    vllm = installed_version(view)
    own, pin = view.need(_OWN), view.need(_PIN)
    if own is None or pin is None:
        return passed(_OWN)
    if fits(own, pin):
        return passed(_OWN, _PIN)
    row = release_row(view)
    if is_from_matrix(view.get(_PIN)) and row and not is_row_of(row, vllm):
        raise MissingFactError(_PIN)
    detail = f"vLLM {vllm} asks for flashinfer-python{pin}, {own} is installed."
    return failed(_OWN, _PIN, "vllm.version", detail=detail, values={"advice.flashinfer": pin})
