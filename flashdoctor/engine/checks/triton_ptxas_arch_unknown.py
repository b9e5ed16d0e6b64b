"""FD403: the assembler inside Triton is older than the GPU."""

from __future__ import annotations

import re

from flashdoctor.engine.checks._flash_attn import at_least
from flashdoctor.engine.checks._gpus import Gpu, named, visible_gpus
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.versions import Capability

_TRITON, _PIN, _GPU = "triton.version", "torch.triton_pin", "gpu.compute_capability"
_FIRST_TRITON = {
    Capability(10, 0): "3.3",
    Capability(12, 0): "3.3",
    Capability(10, 3): "3.6",
    Capability(12, 1): "3.6",
    Capability(11, 0): "3.7",
}
"""By GPU, the first release whose ptxas knows it: 12.8 from 3.3 on, 12.9 from 3.6, 13.1 from 3.7
(assembled with the ptxas of each wheel: triton-lang/triton#10331; #8539, #10462)."""


def judge(view: View) -> Judgement:
    """Compare Triton, else the one that torch asks for, with the first that knows the GPU."""
    version, path = triton_version(view)
    unknown = [gpu for gpu in visible_gpus(view) if not _knows(version, gpu)]
    if not unknown:
        return passed(_GPU, path)
    first = max((_FIRST_TRITON[gpu.capability] for gpu in unknown), key=float)
    detail = f"The ptxas in Triton {version} does not know {named(unknown)}, Triton {first} does."
    return failed(_GPU, "gpu.name", path, detail=detail, values={"advice.triton": first})


def _knows(version: str, gpu: Gpu) -> bool:
    first = _FIRST_TRITON.get(gpu.capability)
    return first is None or at_least(version, first)


def triton_version(view: View) -> tuple[str, str]:
    """Return Triton's version, or that of the one torch requires, and the fact that says so."""
    version = view.get(_TRITON)
    if version.state == "absent":
        raise MissingFactError(_TRITON)
    if version.is_known:
        return str(version.value), _TRITON
    pin = re.search(r"\d[\d.]*", view.need(_PIN) or "")
    if pin is None:
        raise MissingFactError(_TRITON)
    return pin[0], _PIN
