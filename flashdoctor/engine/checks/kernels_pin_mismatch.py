"""FD615: the kernels package is outside the range of transformers."""

from __future__ import annotations

from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.specifiers import fits

_OWN, _PIN, _USER = "kernels.version", "transformers.kernels_pin", "transformers.version"


def judge(view: View) -> Judgement:
    """Compare kernels, where it is installed, with what this transformers declares."""
    own, pin = view.need(_OWN), view.need(_PIN)
    if own is None or pin is None:
        return passed(_OWN)
    if fits(own, pin):
        return passed(_OWN, _PIN)
    user = view.value(_USER, "")
    if not user:
        raise MissingFactError(_USER)
    detail = f"transformers {user} asks for kernels {pin}, {own} is installed."
    return failed(_OWN, _PIN, _USER, detail=detail, values={"advice.kernels": pin})
