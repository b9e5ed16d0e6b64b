"""The nvidia kernel module: loaded or not, its version, open or proprietary."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.model.regex import regex
from flashdoctor.probes.tree import read_text

PROC_SOURCE = "/proc/driver/nvidia/version"
SYS_SOURCE = "/sys/module/nvidia/version"
_PROC = "proc/driver/nvidia/version"
_SYS = "sys/module/nvidia"

_VERSION = regex(r"^NVRM version:.*?\s(\d{2,}\.\d+(?:\.\d+)*)\s", re.MULTILINE)
_OPEN = regex(r"^NVRM version:.*\bOpen Kernel Module\b", re.MULTILINE)


class KernelModule(NamedTuple):
    """What the kernel says of the nvidia module.

    `loaded` is None where neither /proc nor /sys could tell, `flavor` where only /proc would.
    """

    loaded: bool | None = None
    version: str | None = None
    flavor: str | None = None
    source: str = SYS_SOURCE


def parse_version_file(text: str) -> tuple[str | None, str | None]:
    """Return version and flavor from the text of /proc/driver/nvidia/version."""
    match = _VERSION.search(text + "\n")
    if match is None:
        return None, None
    return match[1], "open" if _OPEN.search(text) else "proprietary"


def read_kernel_module(root: Path = Path("/")) -> KernelModule:
    """Read what the kernel says; never raises."""
    version, flavor = parse_version_file(read_text(root / _PROC) or "")
    if version is not None:
        return KernelModule(loaded=True, version=version, flavor=flavor, source=PROC_SOURCE)
    if (root / _SYS).is_dir():
        match = re.fullmatch(r"\d+(?:\.\d+)+", (read_text(root / _SYS / "version") or "").strip())
        return KernelModule(loaded=True, version=match[0] if match else None)
    if (root / _SYS).parent.is_dir():
        return KernelModule(loaded=False)
    return KernelModule()


def module_facts(module: KernelModule) -> list[Fact]:
    """Return the facts driver.module_loaded, driver.module_version and driver.module_flavor."""
    loaded = "driver.module_loaded"
    if module.loaded is None:
        reason = "neither /proc/driver/nvidia nor /sys/module can be read"
        paths = (loaded, "driver.module_version", "driver.module_flavor")
        return [unknown(path, reason, SYS_SOURCE) for path in paths]
    if not module.loaded:
        return [
            known(loaded, False, SYS_SOURCE),
            absent("driver.module_version", SYS_SOURCE),
            absent("driver.module_flavor", SYS_SOURCE),
        ]
    return [
        known(loaded, True, module.source),
        _said("driver.module_version", module.version, module.source),
        _said("driver.module_flavor", module.flavor, PROC_SOURCE),
    ]


def _said(path: str, value: str | None, source: str) -> Fact:
    if value is None:
        return unknown(path, f"{source} does not say", source)
    return known(path, value, source)
