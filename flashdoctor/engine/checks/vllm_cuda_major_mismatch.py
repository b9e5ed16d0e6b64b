"""FD609: vLLM links the CUDA runtime of another major than torch brings."""

from __future__ import annotations

from flashdoctor.engine.checks._imports import imports_well
from flashdoctor.engine.checks._vllm import EXTENSION, installed_version
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions
from flashdoctor.model.regex import regex

_NEEDED, _BUILT, _TORCH = "vllm.extension_needed", "vllm.cuda", "torch.cuda"
_CUDART = regex(r"libcudart\.so\.(\d+)")


def judge(view: View) -> Judgement:
    """Compare majors; what vllm._C really links counts before what the release's wheel does."""
    version = installed_version(view)
    if imports_well(view, EXTENSION):
        return passed("live.imports")
    major, path = _linked(view) or (versions.major(view.need(_BUILT) or ""), _BUILT)
    torch = view.need(_TORCH)
    if torch is None or major is None:
        raise MissingFactError(_TORCH if torch is None else path)
    if major == versions.major(torch):
        return passed(path, _TORCH)
    return failed(
        path,
        _TORCH,
        "vllm.version",
        "torch.version",
        detail=f"vLLM {version} links CUDA {major}, torch brings CUDA {torch}.",
    )


def _linked(view: View) -> tuple[int, str] | None:
    matches = map(_CUDART.match, view.value(_NEEDED, ()))
    return next(((int(match[1]), _NEEDED) for match in matches if match), None)
