from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from flashdoctor.probes.gpu_nodes import read_gpu_nodes


def test_nodes_of_a_gpu_are_told_from_others(machine: Callable[..., Path]) -> None:
    root = machine(nodes=("null", "nvme0", "nvram", "nvidia0", "nvidiactl", "dxg", "nvmap"))
    assert read_gpu_nodes(root) == ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg", "/dev/nvmap")


def test_no_nodes(machine: Callable[..., Path], tmp_path: Path) -> None:
    assert read_gpu_nodes(machine(nodes=("null",))) == ()
    assert read_gpu_nodes(tmp_path / "nowhere") == ()
