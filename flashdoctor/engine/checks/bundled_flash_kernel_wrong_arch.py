"""FD405: xformers has no code for this GPU."""

from __future__ import annotations

from flashdoctor.engine.checks._gpus import named, runs_on, visible_gpus
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed

_SASS, _PTX, _GPU = "xformers.sass", "xformers.ptx", "gpu.compute_capability"


def judge(view: View) -> Judgement:
    """Look for a target inside xformers that runs on every visible GPU."""
    sass = view.need(_SASS)
    if not sass:
        raise MissingFactError(_SASS)
    ptx = view.value(_PTX, ())
    bare = [gpu for gpu in visible_gpus(view) if not runs_on(sass, ptx, gpu.capability)]
    if not bare:
        return passed(_GPU, _SASS)
    detail = f"xformers has {', '.join(sass)}, nothing for {named(bare)}."
    return failed(_GPU, "gpu.name", _SASS, "xformers.version", detail=detail)
