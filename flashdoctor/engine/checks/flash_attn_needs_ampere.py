"""FD304: the GPU is older than flash-attn supports."""

from __future__ import annotations

from flashdoctor.engine.checks._gpus import named, visible_gpus
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions
from flashdoctor.model.versions import Capability

_SUBJECT, _GPU = "flash_attn.version", "gpu.compute_capability"
_TURING, _AMPERE = Capability(7, 5), Capability(8, 0)
"""Up to 1.x Turing was taken, no release of 2.x takes it (flash_api.cpp of every tag)."""


def judge(view: View) -> Judgement:
    """Compare every visible GPU with the floor of the release, or of 2.x where none is stated.

    Without flash-attn there is nothing to say, except to one who asks for it on a GPU that never
    can: the rule is skipped.
    """
    version = view.get(_SUBJECT)
    if not version.is_known and not view.requires("flash-attn"):
        raise MissingFactError(_SUBJECT)
    early = version.is_known and (versions.release(version.value) or (2,)) < (2,)
    floor = _TURING if early else _AMPERE
    old = [gpu for gpu in visible_gpus(view) if gpu.capability < floor]
    if old:
        detail = f"{named(old)}: flash-attn needs compute capability {floor} or newer."
        return failed(_GPU, "gpu.name", _SUBJECT, detail=detail)
    if not version.is_known:
        raise MissingFactError(_SUBJECT)
    return passed(_GPU, _SUBJECT)
