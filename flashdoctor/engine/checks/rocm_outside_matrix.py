"""FD112: an AMD GPU, or a torch built for one: these rules know nothing of ROCm."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed


def judge(view: View) -> Judgement:
    """Pass where an NVIDIA GPU answers: then torch's build is the question, not the machine."""
    if situation.reports_gpu(view):
        return passed("gpu.count")
    if situation.is_foreign(view):
        return failed("gpu.name", "torch.build")
    if "rocm" in (view.value("torch.build"), _system(view)):
        return failed("os.rocm", "torch.build", "torch.version")
    if view.get("torch.build").state == "unknown" and view.get("os.rocm").state == "unknown":
        raise MissingFactError("os.rocm")
    return passed("os.rocm", "torch.build")


def _system(view: View) -> str:
    return "rocm" if view.value("os.rocm") is True else ""
