"""The device nodes that stand for an NVIDIA GPU."""

from __future__ import annotations

from pathlib import Path

SOURCE = "/dev"
_TEGRA = ("nvmap", "nvgpu", "nvhost-gpu", "nvhost-ctrl-gpu")  # Jetson: its GPU is on no PCI bus


def read_gpu_nodes(root: Path = Path("/")) -> tuple[str, ...]:
    """Return `/dev/nvidia*`, `/dev/dxg` (WSL) and a Tegra's nodes, as far as they are there."""
    folder = root / "dev"
    names = sorted(path.name for path in folder.glob("nvidia*"))
    names += [name for name in ("dxg", *_TEGRA) if (folder / name).exists()]
    return tuple(f"{SOURCE}/{name}" for name in names)
