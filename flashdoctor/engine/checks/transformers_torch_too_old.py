"""FD614: torch is older than transformers asks for."""

from __future__ import annotations

from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.specifiers import below, lower_bound

_PIN, _TORCH, _OWN = "transformers.torch_pin", "torch.version", "transformers.version"


def judge(view: View) -> Judgement:
    """Compare torch with the lower end of the pin.

    The upper end that 4.52 declared (`<2.7`) stands in an optional group and stops nobody.
    """
    own = view.need(_OWN)
    pin, torch = view.need(_PIN) if own else None, view.need(_TORCH)
    if own is None or pin is None or torch is None:
        raise MissingFactError(next(path for path in (_OWN, _PIN, _TORCH) if not view.value(path)))
    if not below(torch, pin):
        return passed(_PIN, _TORCH)
    floor = lower_bound(pin) or ""
    detail = f"transformers {own} asks for torch {floor} or newer, torch {torch} is installed."
    return failed(_TORCH, _PIN, _OWN, detail=detail, values={"advice.torch": floor})
