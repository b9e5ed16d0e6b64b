"""FD320: flash-attn needs a newer libstdc++ than this system has."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import MODULES, at_least, installed_version
from flashdoctor.engine.checks._imports import imports_well
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed

_NEEDED, _OWN = "flash_attn.extension_glibcxx", "os.glibcxx"


def judge(view: View) -> Judgement:
    """Compare GLIBCXX versions; a conda environment has a libstdc++ of its own."""
    version = installed_version(view)
    needed, own = view.need(_NEEDED), view.need(_OWN)
    if needed is None or own is None:
        raise MissingFactError(_NEEDED if needed is None else _OWN)
    conda = view.value("python.environment") == "conda"
    if at_least(own, needed) or conda or imports_well(view, MODULES):
        return passed(_NEEDED, _OWN)
    detail = f"flash-attn {version} needs GLIBCXX_{needed}, this system's libstdc++ ends at {own}."
    return failed(_NEEDED, _OWN, "os.distribution", detail=detail)
