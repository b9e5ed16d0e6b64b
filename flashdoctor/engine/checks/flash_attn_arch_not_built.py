"""FD305: the flash-attn that is installed has no code for this GPU."""

from __future__ import annotations

from collections.abc import Sequence

from flashdoctor.engine.checks._flash_attn import (
    installed_version,
    is_official_name,
    is_stated,
    release_row,
)
from flashdoctor.engine.checks._gpus import Gpu, named, runs_on, visible_gpus
from flashdoctor.engine.flash_wheels import wheel_advice
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.versions import Capability

_GPU, _SASS, _CHECK = "gpu.compute_capability", "flash_attn.sass", "flash_attn.accepts_blackwell"
_AMPERE, _BLACKWELL = Capability(8, 0), Capability(10, 0)


def judge(view: View) -> Judgement:
    """Look for a target that runs on every visible GPU from Ampere on; FD304 has older ones."""
    version = installed_version(view)
    gpus = [gpu for gpu in visible_gpus(view) if gpu.capability >= _AMPERE]
    if not gpus:
        raise MissingFactError(_SASS)
    refused = [gpu for gpu in gpus if gpu.capability >= _BLACKWELL]
    if refused and view.value(_CHECK) is False:
        detail = f"flash-attn {version} takes nothing newer than Hopper and turns away"
        return _fail(view, _CHECK, f"{detail} {named(refused)}.")
    sass = _machine_code(view)
    if not sass:
        raise MissingFactError(_SASS)
    bare = [gpu for gpu in gpus if not _has_code(view, sass, gpu)]
    if bare:
        return _fail(
            view, _SASS, f"flash-attn {version} has {', '.join(sass)}, nothing for {named(bare)}."
        )
    return passed(_GPU, _SASS)


def _machine_code(view: View) -> Sequence[str]:
    """Return the targets in the extension, or those of the release that its wheel's name claims."""
    if is_stated(view, _SASS):
        return list(view.value(_SASS))
    row = release_row(view) if is_official_name(view) else None
    return list(row.get("wheel_sass", ())) if row else ()


def _has_code(view: View, sass: Sequence[str], gpu: Gpu) -> bool:
    return runs_on(sass, view.value("flash_attn.ptx", ()), gpu.capability)


def _fail(view: View, path: str, detail: str) -> Judgement:
    return failed(
        _GPU, "gpu.name", path, "flash_attn.version", detail=detail, values=wheel_advice(view)
    )
