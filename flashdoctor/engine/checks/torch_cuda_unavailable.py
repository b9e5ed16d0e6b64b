"""FD204: a CUDA build of torch was imported and could not start CUDA."""

from __future__ import annotations

from flashdoctor.engine.view import Judgement, View, failed, passed

_ENDED = frozenset({"error", "crashed"})


def judge(view: View) -> Judgement:
    """Count a start that ended in an error or a crash as a refusal, even where devices show."""
    if view.need("torch.build") != "cuda":
        return passed("torch.build")
    status = view.need("live.status")
    began = view.get("live.torch_version").is_known
    reached_kernel = view.get("live.kernel_ran").is_known
    refused = view.value("live.cuda_available") is False
    if refused or (status in _ENDED and began and not reached_kernel):
        return failed(
            "live.cuda_available", "live.error", "live.status", detail=view.value("live.error", "")
        )
    view.need("live.cuda_available")
    return passed("live.cuda_available")
