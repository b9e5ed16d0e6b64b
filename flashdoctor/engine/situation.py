"""What several facts say together: where this process runs, and whether a GPU answers it. Pure."""

from __future__ import annotations

import re

from flashdoctor.engine.view import View
from flashdoctor.model.regex import regex

_TEGRA = frozenset({"5.3", "6.2", "7.2", "8.7", "10.1", "11.0"})
_FOREIGN_GPU = regex(r"\b(AMD|Radeon|Instinct|Intel|Arc|Apple)\b|^MI\d{3}", re.IGNORECASE)


def proves_cuda(view: View) -> bool:
    """Whether torch, imported for real, started CUDA: that outweighs any doubt."""
    failed = view.value("live.status") in {"error", "crashed", "timeout"}
    return view.value("live.cuda_available") is True and not failed


def imports_torch(view: View) -> bool:
    """Whether torch could be imported for real, whatever CUDA said then."""
    return view.value("live.status") == "ok" or view.get("live.torch_version").is_known


def says(view: View, pattern: re.Pattern[str], *paths: str) -> str | None:
    """Return the first of these texts (a live import's, by default) that holds the pattern."""
    wanted = paths or ("live.error", "live.kernel_error")
    return next((path for path in wanted if pattern.search(view.value(path, ""))), None)


def reports_gpu(view: View) -> bool | None:
    """Whether the driver reports a GPU, hidden ones included; None where nobody could tell."""
    count = view.get("gpu.count")
    if count.is_known:
        return bool(count.value)
    if view.get("gpu.name").is_known or view.get("gpu.compute_capability").is_known:
        return not is_foreign(view)
    return False if "absent" in (count.state, view.get("gpu.name").state) else None


def lacks_driver(view: View) -> bool:
    """Whether somebody stated that there is no driver. NVML, where it was asked, knows better."""
    asked = view.get("nvml.status").is_known or view.get("driver.module_loaded").is_known
    return view.get("driver.version").state == "absent" and not asked


def is_foreign(view: View) -> bool:
    """Whether the GPU bears the name of another maker."""
    return _FOREIGN_GPU.search(view.value("gpu.name", "")) is not None


def runs_in_container(view: View) -> bool:
    """Whether this process is known to run inside a container."""
    return view.get("container.kind").is_known


def runs_in_wsl(view: View) -> bool:
    """Whether this is WSL 1 or 2."""
    return bool(view.value("wsl.version"))


def runs_on_windows(view: View) -> bool:
    """Whether this is Windows itself, WSL not counted."""
    return bool(view.value("os.system") == "Windows")


def uses_windows_driver(view: View) -> bool:
    """Whether the driver's number is one of Windows: natively, or in WSL."""
    return runs_on_windows(view) or runs_in_wsl(view)


def is_jetson(view: View) -> bool:
    """Whether this is a Jetson or Drive board, whose driver and torch are not in the tables."""
    named = view.value("os.jetson") is True or view.value("gpu.segment") == "jetson"
    return named or view.value("gpu.compute_capability") in _TEGRA
