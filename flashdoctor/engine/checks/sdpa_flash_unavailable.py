"""FD219: torch's own flash kernel does not take this GPU, so SDPA runs another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flashdoctor.engine.coverage import read_capability
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions
from flashdoctor.model.versions import Capability

_Range = tuple[tuple[int, int], tuple[int, int]]


class _Fused(NamedTuple):
    """The capabilities that SDPA's fused kernels take, from this torch release on."""

    since: tuple[int, ...]
    flash: _Range
    efficient: _Range


_FUSED = (
    _Fused((2,), ((7, 5), (9, 0)), ((5, 0), (9, 0))),
    _Fused((2, 2), ((8, 0), (9, 0)), ((5, 0), (9, 0))),
    _Fused((2, 7), ((8, 0), (12, 0)), ((5, 0), (12, 0))),
    _Fused((2, 8), ((8, 0), (12, 1)), ((5, 0), (12, 1))),
)
"""aten/src/ATen/native/transformers/cuda/sdp_utils.cpp over its history, oldest first."""


def judge(view: View) -> Judgement:
    """Tell of a missing flash kernel quietly; warn where no fused kernel at all is left."""
    fused = _fused(view)
    devices = view.devices()
    if fused is None or view.value("torch.build", "cuda") != "cuda" or not devices:
        raise MissingFactError("torch.version")
    for device in devices:
        capability = read_capability(device)
        if capability and not _takes(fused.flash, capability):
            return _fail(view, device, fused, capability)
    if view.value("os.system") == "Windows" and fused.since >= (2, 2):
        text = "The wheels for Windows have been built without it since torch 2.2."
        return failed("os.system", "torch.version", detail=text)
    return passed("gpu.compute_capabilities", "torch.version")


def _fused(view: View) -> _Fused | None:
    release = versions.release(view.need("torch.version") or "")
    known = [row for row in _FUSED if release and release >= row.since]
    return known[-1] if known else None


def _takes(span: _Range, capability: Capability) -> bool:
    return span[0] <= capability <= span[1]


def _fail(
    view: View, device: Mapping[str, object], fused: _Fused, capability: Capability
) -> Judgement:
    low, high = ("{}.{}".format(*edge) for edge in fused.flash)
    left = _takes(fused.efficient, capability)
    use = "SDPA takes the memory-efficient kernel." if left else "SDPA is left with math."
    return failed(
        "gpu.compute_capability",
        "torch.version",
        detail=f"{device.get('name', 'The GPU')} is {capability}; flash in torch "
        f"{view.value('torch.version')} takes {low} to {high}. {use}",
        severity=None if left else "warning",
    )
