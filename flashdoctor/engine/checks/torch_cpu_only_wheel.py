"""FD203: the installed torch cannot use an NVIDIA GPU at all."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.torch_choice import advise_torch
from flashdoctor.engine.view import Judgement, View, failed, passed


def judge(view: View) -> Judgement:
    """Leave macOS and AMD machines alone; a ROCm or XPU build beside an NVIDIA GPU is as bad."""
    build = view.need("torch.build")
    misplaced = build in {"rocm", "xpu"} and situation.reports_gpu(view) is True
    if view.value("os.system") == "Darwin" or (build != "cpu" and not misplaced):
        return passed("torch.build")
    return failed(
        "torch.version",
        "torch.build",
        "gpu.name",
        "os.platform",
        detail=f"torch {view.value('torch.version', '')} is a {build} build.",
        values=advise_torch(view),
    )
