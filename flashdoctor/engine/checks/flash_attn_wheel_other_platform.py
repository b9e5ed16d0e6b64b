"""FD312: the flash-attn wheel was built for another system or processor."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import installed_version
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed

_SEEN, _TAG, _OWN = (
    "flash_attn.extension_machine",
    "flash_attn.wheel.platform",
    "os.platform",
)
_SYSTEM, _SYSTEMS = "os.system", {"Linux": "linux", "Windows": "win", "Darwin": "macosx"}
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def judge(view: View) -> Judgement:
    """Compare the extension's ELF machine, else the wheel's platform tag, with this machine."""
    installed_version(view)
    path = _SEEN if view.get(_SEEN).is_known else _TAG
    system = view.value(_SYSTEM)
    if path == _TAG and system in _SYSTEMS and not view.get(_OWN).is_known:
        return _compare_systems(view.need(_TAG) or "any", system)
    tag, own = view.need(path), view.need(_OWN)
    if tag is None or own is None:
        raise MissingFactError(path if tag is None else _OWN)
    fits = _machine(tag) == _machine(own) if path == _SEEN else _fits(tag, own)
    if fits:
        return passed(path, _OWN)
    detail = f"flash-attn was built for {tag}, this machine is {own}."
    return failed(path, _OWN, "flash_attn.wheel.file", detail=detail)


def _compare_systems(tag: str, system: str) -> Judgement:
    """Compare the wheel's tag with the operating system, where the processor is not known."""
    if tag == "any" or _system(tag) == _SYSTEMS[system]:
        raise MissingFactError(_OWN)
    detail = f"flash-attn was built for {tag}, this is {system}."
    return failed(_TAG, _SYSTEM, "flash_attn.wheel.file", detail=detail)


def _fits(tag: str, own: str) -> bool:
    return tag == "any" or (_system(tag), _machine(tag)) == (_system(own), _machine(own))


def _system(platform: str) -> str:
    return next((name for name in ("linux", "win", "macosx") if name in platform), platform)


def _machine(platform: str) -> str:
    name = platform.removesuffix("_64")
    last = platform if name != platform else platform.rpartition("_")[2]
    return "x86_64" if last.endswith("x86_64") else _MACHINES.get(last, last)
