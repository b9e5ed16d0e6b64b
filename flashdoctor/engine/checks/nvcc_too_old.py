"""FD502: the nvcc that a build would take is too old for flash-attn or for the GPU."""

from __future__ import annotations

from flashdoctor.data import lookup
from flashdoctor.engine.checks._flash_attn import at_least
from flashdoctor.engine.checks._gpus import visible_gpus
from flashdoctor.engine.flash_wheels import must_compile
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions

_NVCC = "toolkit.version"
_FA3_MINIMUM = "12.3"  # hopper/setup.py


def judge(view: View) -> Judgement:
    """Compare nvcc with the package's floor and with the first CUDA that knows the GPU."""
    floors = dict(_floors(view))
    nvcc = view.need(_NVCC) if floors else None
    short = {what: floor for what, floor in floors.items() if nvcc and not at_least(nvcc, floor)}
    if not short:
        return passed(*((_NVCC,) if floors else ()))
    what, floor = max(short.items(), key=lambda item: versions.order(item[1]) or ((), 0))
    detail = f"{what} needs nvcc {floor} or newer, the first one found is {nvcc}."
    return failed(_NVCC, "toolkit.path", "gpu.name", detail=detail, values={"advice.cuda": floor})


def _floors(view: View) -> list[tuple[str, str]]:
    floors = []
    if must_compile(view):
        floors += [_package_floor(view), *_gpu_floors(view)]
    if view.requires("fa3") and view.need("flash_attn_3.version") is None:
        floors.append(("FlashAttention-3", _FA3_MINIMUM))
    return floors


def _package_floor(view: View) -> tuple[str, str]:
    rows = view.tables.compat("flash_attn")["release"]
    newest = max(rows, key=lambda row: versions.order(row["version"]) or ((), 0))
    return f"flash-attn {newest['version']}", str(newest["min_cuda_to_build"])


def _gpu_floors(view: View) -> list[tuple[str, str]]:
    """Return the first CUDA for each visible GPU; an older nvcc builds nothing that runs there."""
    try:
        gpus = visible_gpus(view)
    except MissingFactError:
        return []
    rows = [(gpu, lookup.arch(view.tables, gpu.capability)) for gpu in gpus]
    return [(str(gpu), str(row["first_cuda"])) for gpu, row in rows if row and "first_cuda" in row]
