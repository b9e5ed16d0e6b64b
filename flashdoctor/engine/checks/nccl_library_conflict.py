"""FD211: another NCCL than torch's own is loaded or installed."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.checks.cudnn_version_mismatch import describe_unmet, find_unmet
from flashdoctor.engine.torch_choice import own_index
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model.regex import regex

_SYMBOL = regex(r"undefined symbol: nccl\w+")
_NAME = regex(r"nvidia-nccl(-cu\d+)?$")


def judge(view: View) -> Judgement:
    """Believe the loader's words; a differing package alone is only a warning."""
    path = situation.says(view, _SYMBOL)
    if path:
        evidence = (path, "live.libraries", "torch.nccl", "torch.pins_unmet")
        return failed(*evidence, values=own_index(view))
    view.need("torch.pins_unmet")
    unmet = find_unmet(view, _NAME)
    if unmet:
        text = describe_unmet(unmet)
        return failed(
            "torch.pins_unmet",
            "torch.nccl",
            detail=text,
            values=own_index(view),
            severity="warning",
        )
    return passed("torch.pins_unmet")
