"""FD214: triton is missing, or not the one that this torch release requires."""

from __future__ import annotations

from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.engine.when import OPERATORS
from flashdoctor.model import versions


def judge(view: View) -> Judgement:
    """Judge CUDA builds on Linux: elsewhere torch requires no triton."""
    if view.need("torch.build") != "cuda" or view.value("os.system", "Linux") != "Linux":
        return passed("torch.build")
    triton, pin = view.need("triton.version"), view.value("torch.triton_pin")
    if triton is None:
        needed = pin is not None and view.value("os.platform") != "linux_aarch64"
        return _miss(view) if needed else passed("triton.version")
    if pin is None:
        raise MissingFactError("torch.triton_pin")
    if not OPERATORS["violates"]("version", triton, pin):
        return passed("triton.version", "torch.triton_pin")
    close = versions.minor(triton) == versions.minor(pin.lstrip("=~<>! "))
    return failed(
        "triton.version",
        "torch.version",
        detail=f"torch {view.value('torch.version')} requires triton{pin}; it is {triton}.",
        values={"advice.triton": pin},
        severity="info" if close else None,
    )


def _miss(view: View) -> Judgement:
    needs = view.requires("vllm") or view.get("vllm.version").is_known
    return failed(
        "triton.version",
        "torch.version",
        detail="triton is not installed.",
        values={"advice.triton": view.value("torch.triton_pin", "")},
        severity="warning" if needs else "info",
    )
