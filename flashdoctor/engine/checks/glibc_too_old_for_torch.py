"""FD105: torch's wheel needs a newer glibc or libstdc++ than this system has."""

from __future__ import annotations

from flashdoctor.engine import drivers, situation
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model.regex import regex

_LOADER = regex(r"version [`'\"]?(GLIBC(?:XX)?_[\d.]+)['`\"]? not found")


def judge(view: View) -> Judgement:
    """Believe the loader first; a torch that could be imported has all the glibc it needs."""
    refused = _LOADER.search(view.value("live.error", ""))
    if refused:
        return failed("live.error", "os.glibc", detail=f"The loader finds no {refused[1]}.")
    if situation.imports_torch(view):
        return passed("live.torch_version")
    if situation.runs_on_windows(view):
        return passed("os.system")
    own, floor = view.need("os.glibc"), view.need("torch.glibc_floor")
    if own and floor and drivers.is_below(own, floor):
        text = f"glibc is {own}, the wheel needs {floor}."
        return failed("os.glibc", "torch.glibc_floor", "torch.version", detail=text)
    return passed("os.glibc", "torch.glibc_floor")
