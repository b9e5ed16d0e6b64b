"""FD506: gcc is newer than nvcc accepts."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import at_least
from flashdoctor.engine.flash_wheels import must_compile
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions

_GCC, _NAME, _NVCC = "os.compiler_version", "os.compiler", "toolkit.version"
_NEWEST_GCC = (
    ("13.0", 15),
    ("12.8", 14),
    ("12.4", 13),
    ("12.0", 12),
    ("11.4.1", 11),
    ("11.1", 10),
    ("11.0", 9),
)
"""From this CUDA on, the newest gcc that crt/host_config.h of the toolkit takes. NVIDIA CUDA
Installation Guide, "Host Compiler Support Policy"; torch/utils/cpp_extension.py has the same table
but for 12.3, where gcc 13 was seen to fail (Dao-AILab/flash-attention#1452)."""


def judge(view: View) -> Judgement:
    """Compare gcc with the newest that this nvcc takes, where something has to be compiled."""
    if not must_compile(view):
        return passed()
    nvcc, gcc = view.need(_NVCC), view.need(_GCC)
    if nvcc is None or gcc is None:
        raise MissingFactError(_NVCC if nvcc is None else _GCC)
    newest = newest_gcc(nvcc)
    own = versions.major(gcc)
    if newest is None or own is None or not _is_gcc(view):
        raise MissingFactError(_GCC)
    if own <= newest:
        return passed(_NVCC, _GCC)
    detail = f"nvcc {nvcc} takes gcc up to {newest}, the one on PATH is {gcc}."
    return failed(_NVCC, _NAME, _GCC, detail=detail, values={"advice.gcc": str(newest)})


def newest_gcc(nvcc: str) -> int | None:
    """Return the major of the newest gcc that an nvcc takes, None for one older than the table."""
    return next((gcc for first, gcc in _NEWEST_GCC if at_least(nvcc, first)), None)


def _is_gcc(view: View) -> bool:
    return str(view.value(_NAME, "gcc")).startswith(("gcc", "g++"))
