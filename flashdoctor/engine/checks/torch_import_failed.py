"""FD205: torch cannot be imported."""

from __future__ import annotations

from flashdoctor.engine.torch_choice import own_index
from flashdoctor.engine.view import Judgement, View, failed, passed

_ENDED = frozenset({"error", "crashed"})


def judge(view: View) -> Judgement:
    """Leave a torch that was imported, and then could not start CUDA, to FD204."""
    status = view.need("live.status")
    if status in _ENDED and not view.get("live.torch_version").is_known:
        return failed(
            "live.error", "live.status", detail=view.value("live.error", ""), values=own_index(view)
        )
    return passed("live.status")
