"""FD202: there is no torch in the target Python."""

from __future__ import annotations

from flashdoctor.engine.torch_choice import advise_torch
from flashdoctor.engine.view import Judgement, View, failed, passed

_INDEX = "https://download.pytorch.org/whl/"


def judge(view: View) -> Judgement:
    """Name a wheel for this GPU and driver where both are known: the default may be too new."""
    view.need("torch.version")
    fact = view.get("torch.version")
    if fact.is_known:
        return passed("torch.version")
    return failed("torch.version", detail=fact.reason, values={"advice.command": _command(view)})


def _command(view: View) -> str:
    known = view.get("driver.version").is_known and view.get("gpu.compute_capability").is_known
    values = advise_torch(view) if known else {}
    if not values:
        return "pip install torch"
    return (
        f"pip install torch=={values['advice.torch']} --index-url {_INDEX}{values['advice.index']}"
    )
