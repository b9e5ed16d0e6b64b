"""FD503: torch's extension builder refuses a toolkit of another CUDA major."""

from __future__ import annotations

from flashdoctor.engine.flash_wheels import must_compile
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions

_NVCC, _TORCH = "toolkit.version", "torch.cuda"


def judge(view: View) -> Judgement:
    """Compare majors, where something has to be compiled; else a toolkit does not matter."""
    if not must_compile(view):
        return passed()
    nvcc, torch = view.need(_NVCC), view.need(_TORCH)
    if nvcc is None or torch is None:
        raise MissingFactError(_NVCC if nvcc is None else _TORCH)
    if versions.major(nvcc) == versions.major(torch):
        return passed(_NVCC, _TORCH)
    detail = f"nvcc is of CUDA {nvcc}, torch was built with CUDA {torch}."
    return failed(_NVCC, "toolkit.path", _TORCH, detail=detail)
