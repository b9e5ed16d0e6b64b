"""The GPUs that a judgement is about, and whether machine code runs on them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from flashdoctor.engine.view import MissingFactError, View
from flashdoctor.model.versions import Capability, capability, ptx_runs, sass_runs

_TEGRA = frozenset(
    Capability(major, minor) for major, minor in ((5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0))
)
"""Jetson and Drive boards: the CUDA C++ Programming Guide promises binary compatibility on the
desktop only, neither on Tegra nor between the two. Measured on Orin: sm_80 code gives "no kernel
image" (jax-ml/jax#40492, Dao-AILab/flash-attention#1146, vllm-project/vllm#19328)."""


class Gpu(NamedTuple):
    """One visible GPU."""

    name: str
    capability: Capability

    def __str__(self) -> str:
        return f"{self.name} ({self.capability})"


def visible_gpus(view: View) -> list[Gpu]:
    """Return the visible GPUs; skips the rule where no compute capability is known."""
    found = []
    for device in view.devices():
        known = capability(str(device.get("compute_capability", "")))
        if known:
            found.append(Gpu(str(device.get("name") or "GPU"), known))
    if not found:
        raise MissingFactError("gpu.compute_capability")
    return found


def named(gpus: Iterable[Gpu]) -> str:
    """Return `Tesla T4 (7.5), NVIDIA L4 (8.9)`, each kind of GPU once."""
    return ", ".join(dict.fromkeys(map(str, gpus)))


def runs_on(sass: Iterable[str], ptx: Iterable[str], on: Capability) -> bool:
    """Whether any of these targets gives code for a GPU: as it is, or compiled by the driver."""
    return any(_native(target, on) for target in sass) or any(ptx_runs(item, on) for item in ptx)


def _native(target: str, on: Capability) -> bool:
    built = capability(target)
    if on in _TEGRA or built in _TEGRA:
        return built == on
    return sass_runs(target, on)
