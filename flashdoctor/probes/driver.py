"""The kernel's side of the driver: who holds the GPUs, nvidia_uvm, device nodes, fabric manager.

Which driver version it is comes from the GPU probe, libcuda from its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.model.regex import regex
from flashdoctor.probes import fabric_manager
from flashdoctor.probes.pci import DEVICES, PciDevice, read_nvidia_devices
from flashdoctor.probes.tree import exists, inside, names_in, read_text
from flashdoctor.probes.wsl import find_version

_KERNEL_PATHS = (
    "driver.uvm_loaded",
    "driver.uvm_node",
    "driver.device_nodes",
    "driver.nodes_denied",
)
PATHS = ("driver.claimed_by", *_KERNEL_PATHS, *fabric_manager.PATHS)

_GPU_NODE = regex(r"nvidia\d+")
_SHARED_NODES = ("nvidiactl", "nvidia-uvm")


def read_driver(root: Path, environ: Mapping[str, str]) -> list[Fact]:
    """Read sysfs, /proc/modules and /dev; inside WSL, which has none of these, they are absent."""
    devices = read_nvidia_devices(root)
    fabric = fabric_manager.describe_fabric_manager(root, environ, devices or ())
    if find_version(root, environ):
        reason = "WSL has no nvidia kernel module"
        return [
            *(absent(path, "kernel release", reason) for path in PATHS[: -len(fabric)]),
            *fabric,
        ]
    return [_claim(devices), *_kernel_facts(root), *fabric]


def _claim(devices: list[PciDevice] | None) -> Fact:
    path = "driver.claimed_by"
    if devices is None:
        return unknown(path, "the kernel lists no PCI bus", DEVICES)
    gpus = [device for device in devices if device.is_gpu]
    if not gpus:
        return absent(path, DEVICES, "no NVIDIA display device on the PCI bus")
    holders = sorted({device.driver for device in gpus if device.driver})
    if not holders:
        return absent(path, DEVICES, "no kernel driver holds the GPU")
    return known(path, ", ".join(holders), f"{DEVICES}/*/driver")


def _kernel_facts(root: Path) -> list[Fact]:
    if sys.platform != "linux":
        return [absent(path, "sys.platform", "only Linux has these") for path in _KERNEL_PATHS]
    names = names_in(inside(root, "/dev"))
    nodes = [name for name in names if _GPU_NODE.fullmatch(name)]
    present = [*nodes, *(name for name in _SHARED_NODES if name in names)]
    denied = [f"/dev/{name}" for name in present if not _may_open(inside(root, f"/dev/{name}"))]
    return [
        _uvm(root, has_nodes=bool(present)),
        known("driver.uvm_node", "nvidia-uvm" in names, "/dev"),
        known("driver.device_nodes", len(nodes), "/dev"),
        known("driver.nodes_denied", denied, "/dev"),
    ]


def _may_open(path: Path) -> bool:
    return os.access(path, os.R_OK | os.W_OK)


def _uvm(root: Path, *, has_nodes: bool) -> Fact:
    path = "driver.uvm_loaded"
    if exists(inside(root, "/sys/module/nvidia_uvm")):
        return known(path, True, "/sys/module")  # also where it is built into the kernel
    text = read_text(inside(root, "/proc/modules"))
    modules = parse_modules(text or "")
    if text is None or (has_nodes and "nvidia" not in modules):  # a sandbox with its own kernel
        return unknown(path, "the kernel does not list NVIDIA's modules", "/proc/modules")
    return known(path, "nvidia_uvm" in modules, "/proc/modules")


def parse_modules(text: str) -> set[str]:
    """Return the names in a /proc/modules."""
    return {line.split(" ", 1)[0] for line in text.splitlines() if line}
