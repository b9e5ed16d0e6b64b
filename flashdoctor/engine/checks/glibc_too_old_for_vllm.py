"""FD606: vLLM was linked against a newer glibc than this system has."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import at_least
from flashdoctor.engine.checks._vllm import installed_version, release_in
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed

_SEEN, _TAG, _OWN = "vllm.extension_glibc", "vllm.glibc_floor", "os.glibc"
_UNDERSTATED = ("0.20.0", "0.20.1", "2.34")
"""Tagged manylinux_2_31, linked against 2.34 (vllm-project/vllm#41103)."""


def judge(view: View) -> Judgement:
    """Compare what vllm._C asks for, else what the wheel's tag promises, with the system."""
    version = installed_version(view)
    needed, path = _needed(view, version)
    own = view.need(_OWN)
    if own is None:
        raise MissingFactError(_OWN)
    if at_least(own, needed):
        return passed(path, _OWN)
    detail = f"vLLM {version} needs glibc {needed}, this system has {own}."
    return failed(path, _OWN, "os.distribution", "vllm.version", detail=detail)


def _needed(view: View, version: str) -> tuple[str, str]:
    if view.get(_SEEN).is_known:
        return str(view.value(_SEEN)), _SEEN
    first, last, needed = _UNDERSTATED
    if release_in(version, first, last):
        return needed, "vllm.version"
    floor = view.need(_TAG)
    if floor is None:
        raise MissingFactError(_TAG)
    return str(floor), _TAG
