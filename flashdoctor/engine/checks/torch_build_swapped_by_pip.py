"""FD213: more than one torch, or CUDA packages that are not the ones torch asks for."""

from __future__ import annotations

from flashdoctor.engine.checks.cudnn_version_mismatch import describe_unmet, find_unmet
from flashdoctor.engine.torch_choice import own_index
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.regex import regex

_OTHERS = regex(r"(?!nvidia-(cudnn|nccl)(-cu\d+)?$)")


def judge(view: View) -> Judgement:
    """Leave cuDNN and NCCL to rules of their own."""
    installs = view.value("torch.installs")
    if installs is not None and installs > 1:
        text = f"{installs} torch distributions are on sys.path."
        copies = ("torch.installs", "torch.version", "python.user_site")
        return failed(*copies, detail=text, values=own_index(view))
    unmet = find_unmet(view, _OTHERS)
    if unmet:
        evidence = ("torch.pins_unmet", "torch.version")
        return failed(*evidence, detail=describe_unmet(unmet), values=own_index(view))
    if installs is None and view.get("torch.pins_unmet").state == "unknown":
        raise MissingFactError("torch.pins_unmet")
    return passed("torch.installs", "torch.pins_unmet")
