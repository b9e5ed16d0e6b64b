"""FD711: other processes hold GPU memory that vLLM would count as its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.regex import regex

_TOLERATED = 0.1
"""vLLM asks for 0.9 of the whole memory by default (0.92 from 0.20 on), free at its start."""


_WORDS = regex(r"out of memory", re.IGNORECASE)


def judge(view: View) -> Judgement:
    """Compare what is in use with the total of each visible GPU."""
    said = situation.says(view, _WORDS)
    if said:
        return failed(said, "gpu.memory_used_mib", "gpu.processes", severity="error")
    shares = list(_shares(view))
    if not shares:
        raise MissingFactError("gpu.memory_used_mib")
    held = [(name, used, total) for name, used, total in shares if used > _TOLERATED * total]
    if not held:
        return passed("gpu.memory_used_mib", "gpu.memory_mib")
    name, used, total = held[0]
    text = f"{name}: {used / 1024:.1f} of {total / 1024:.1f} GiB are in use."
    return failed("gpu.memory_used_mib", "gpu.memory_mib", "gpu.processes", detail=text)


def _shares(view: View) -> Iterator[tuple[str, int, int]]:
    for device in view.value("gpu.devices") or ():
        used, total = device.get("memory_used_mib"), device.get("memory_total_mib")
        if device.get("visible", True) and used is not None and total:
            yield f"GPU {device.get('index', 0)}", used, total
    if not view.value("gpu.devices"):
        used, total = view.value("gpu.memory_used_mib"), view.value("gpu.memory_mib")
        if used is not None and total:
            yield "The GPU", used, total
