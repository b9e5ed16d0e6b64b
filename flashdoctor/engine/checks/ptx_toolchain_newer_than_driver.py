"""FD129: only PTX serves this GPU, and it is newer than what the driver can compile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from flashdoctor.engine.coverage import cover, read_capability, torch_targets
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions
from flashdoctor.model.regex import regex
from flashdoctor.model.rule import Severity
from flashdoctor.model.versions import Capability

_REFUSED = regex(r"unsupported toolchain|UNSUPPORTED_PTX_VERSION", re.IGNORECASE)


class _Code(NamedTuple):
    """One binary: the fact that lists its targets, the CUDA that built it, how bad a refusal is."""

    path: str
    targets: list[str]
    cuda: str
    severity: Severity


def judge(view: View) -> Judgement:
    """Believe a launch that was refused; else compare toolkit and driver where only PTX serves."""
    if _REFUSED.search(view.value("live.kernel_error", "")):
        return failed("live.kernel_error", "driver.cuda", "torch.cuda")
    codes = list(_codes(view))
    if not codes and not view.get("vllm.fa2.sass").is_known:
        raise MissingFactError("torch.arch_list")
    driver = versions.release(view.need("driver.cuda") or "")
    seen = [read_capability(device) for device in view.devices()]
    for code in codes:
        needs_jit = any(cover(code.targets, on) == "ptx" for on in seen if on)
        if driver and needs_jit and driver < (versions.release(code.cuda) or ()):
            text = f"Its PTX comes from CUDA {code.cuda}, the driver compiles up to "
            text += f"{view.value('driver.cuda')}."
            return failed(code.path, "driver.cuda", "gpu.name", detail=text, severity=code.severity)
    return passed("driver.cuda", *(code.path for code in codes))


def _codes(view: View) -> Iterator[_Code]:
    torch, cuda = torch_targets(view), view.value("torch.cuda")
    if torch and cuda and view.value("live.kernel_ran") is not True:
        yield _Code(torch[1], torch[0], cuda, "error")
    for path, built_with, component in (
        ("flash_attn", "flash_attn.wheel.cuda", "flash-attn"),
        ("vllm.fa2", "vllm.cuda", "vllm"),
    ):
        targets = [*view.value(f"{path}.sass", ()), *view.value(f"{path}.ptx", ())]
        toolkit = view.value(built_with, "")
        if targets and versions.minor(toolkit) and not _is_replaced(view, path):
            severity: Severity = "error" if path != "vllm.fa2" else "warning"
            yield _Code(
                f"{path}.ptx", targets, toolkit, severity if view.requires(component) else "warning"
            )


def _is_replaced(view: View, path: str) -> bool:
    """Whether vLLM takes another kernel here: FA3 on Hopper."""
    hopper = view.value("gpu.compute_capability") == str(Capability(9, 0))
    return path == "vllm.fa2" and hopper and "fa3" in view.value("vllm.bundled", ())
