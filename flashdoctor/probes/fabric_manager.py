"""NVIDIA's fabric manager, without which CUDA does not start on an NVSwitch machine."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.probes.command import run
from flashdoctor.probes.container import find_kind
from flashdoctor.probes.pci import PciDevice
from flashdoctor.probes.tree import inside, names_in, on_path, outside, read_text

PATHS = ("driver.fabric_manager", "driver.fabric_manager_version")

_STATE, _VERSION = PATHS
_PROGRAM = "nv-fabricmanager"
_COMM = _PROGRAM[:15]  # the kernel keeps 15 characters of a process's name
_PID_FILES = tuple(f"{top}/nvidia-fabricmanager/{_PROGRAM}.pid" for top in ("/run", "/var/run"))
_NODE = "nvidia-nvswitch"
_MOST_PROCESSES = 4096
_VERSION_TIMEOUT_S = 2.0


def describe_fabric_manager(
    root: Path, environ: Mapping[str, str], devices: Sequence[PciDevice]
) -> list[Fact]:
    """Tell whether the fabric manager runs, and its version on an NVSwitch machine.

    Absent where there is neither an NVSwitch nor the program, so that nothing is scanned there.
    """
    search = os.pathsep.join([environ.get("PATH", ""), "/usr/bin"])
    program = next(iter(on_path(root, search, _PROGRAM)), None)
    has_switch = any(item.is_nvswitch for item in devices) or any(
        name.startswith(_NODE) for name in names_in(inside(root, "/dev"))
    )
    if not has_switch and program is None:
        reason = "no NVSwitch and no nv-fabricmanager"
        return [absent(path, "PCI bus, /dev, PATH", reason) for path in PATHS]
    return [_state(root, environ), _version(root, program if has_switch else None)]


def _state(root: Path, environ: Mapping[str, str]) -> Fact:
    processes = [name for name in names_in(inside(root, "/proc")) if name.isdigit()]
    if _runs(root, processes):
        return known(_STATE, "running", "/proc/*/comm")
    if find_kind(root, environ):
        return unknown(_STATE, "a container does not see the host's processes", "/proc/*/comm")
    if read_text(inside(root, "/proc/1/comm")) is None:
        return unknown(_STATE, "other users' processes cannot be seen", "/proc/*/comm")
    if len(processes) > _MOST_PROCESSES:
        return unknown(_STATE, f"more than {_MOST_PROCESSES} processes", "/proc/*/comm")
    return known(_STATE, "stopped", "/proc/*/comm")


def _runs(root: Path, processes: list[str]) -> bool:
    noted = [(read_text(inside(root, name)) or "").strip() for name in _PID_FILES]
    return any(
        (read_text(inside(root, f"/proc/{number}/comm")) or "").startswith(_COMM)
        for number in [*filter(str.isdigit, noted), *processes[:_MOST_PROCESSES]]
    )


def _version(root: Path, program: Path | None) -> Fact:
    if program is None:
        return absent(_VERSION, "PATH")
    source = f"{outside(root, program)} --version"
    answer = run([str(program), "--version"], timeout_s=_VERSION_TIMEOUT_S)
    version = parse_version(answer.stdout + answer.stderr)
    if version is None:
        return unknown(_VERSION, answer.failure or "its answer holds no version", source)
    return known(_VERSION, version, source)


def parse_version(text: str) -> str | None:
    """Return the version in `Fabric Manager version is : 535.161.08`."""
    match = re.search(r"version is\s*:?\s*(\d+(?:\.\d+)+)", text)
    return match[1] if match else None
