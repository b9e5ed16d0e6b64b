"""The operating system: what it is, its C library, the wheels it takes, the board it runs on."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.model.regex import regex
from flashdoctor.probes.tree import exists, inside, names_in, read_text

PATHS = (
    "os.system",
    "os.distribution",
    "os.kernel",
    "os.platform",
    "os.glibc",
    "os.cpu_count",
    "os.jetson",
    "os.rocm",
)

_SYSTEMS = {"linux": "Linux", "win32": "Windows", "darwin": "Darwin"}
_RELEASE_FILES = ("/etc/os-release", "/usr/lib/os-release")
_KERNEL = "/proc/sys/kernel/osrelease"
_TEGRA_RELEASE = "/etc/nv_tegra_release"
_BOARD_FILES = ("/proc/device-tree/model", "/proc/device-tree/compatible")
_LONGEST_32_BIT = 2**31 - 1
_ASSIGNMENT = regex(r"^([A-Z_]+)=(.*)$", re.MULTILINE)


def read_system(root: Path, environ: Mapping[str, str]) -> list[Fact]:
    """Read what the running system is. Works on Windows and macOS, where some of it is absent."""
    del environ  # every probe takes one
    kernel = read_kernel(root)
    cores = _core_count()
    return [
        known("os.system", _SYSTEMS.get(sys.platform, sys.platform), "sys.platform"),
        _distribution(root),
        unknown("os.kernel", "the system does not say", _KERNEL)
        if kernel is None
        else known("os.kernel", kernel, _KERNEL if sys.platform == "linux" else "uname"),
        known("os.platform", wheel_platform(), "uname"),
        _glibc(root),
        unknown("os.cpu_count", "the system does not say", "sched_getaffinity")
        if cores is None
        else known("os.cpu_count", cores, "sched_getaffinity"),
        known("os.jetson", _is_jetson(root), f"{_TEGRA_RELEASE}, {_BOARD_FILES[0]}"),
        known("os.rocm", _has_rocm(root), "/dev/kfd, /sys/module/amdgpu"),
    ]


def read_kernel(root: Path) -> str | None:
    """Return the kernel release, on Windows the release of Windows; None where nobody says."""
    text = (read_text(inside(root, _KERNEL)) or "").strip()
    if text:
        return text
    import platform  # noqa: PLC0415  # not needed on Linux

    return platform.release() or None


def wheel_platform() -> str:
    """Return the platform as wheels name it: `linux_x86_64`, `win_amd64`, `macosx_14_0_arm64`."""
    if sys.platform == "linux":
        machine = os.uname().machine
        return f"linux_{'i686' if _is_32_bit_python(machine) else machine}"
    import sysconfig  # noqa: PLC0415  # not needed on Linux

    return re.sub(r"[-.]", "_", sysconfig.get_platform())


def _is_32_bit_python(machine: str) -> bool:
    return machine == "x86_64" and sys.maxsize <= _LONGEST_32_BIT


def parse_os_release(text: str) -> str | None:
    """Return name and version of a distribution from its os-release file, `Ubuntu 22.04`."""
    values = {key: _unquoted(value.strip()) for key, value in _ASSIGNMENT.findall(text)}
    name = values.get("NAME") or values.get("PRETTY_NAME") or values.get("ID")
    return f"{name} {values.get('VERSION_ID', '')}".strip() if name else None


def _unquoted(value: str) -> str:
    """Return a shell word without its quotes and backslashes."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return re.sub(r"\\(.)", r"\1", value)


def _distribution(root: Path) -> Fact:
    path = "os.distribution"
    if sys.platform != "linux":
        return known(path, _foreign_release(), "platform")
    for name in _RELEASE_FILES:
        text = read_text(inside(root, name))
        release = parse_os_release(text) if text else None
        if release:
            return known(path, release, name)
    return absent(path, _RELEASE_FILES[0], "no os-release file names a distribution")


def _foreign_release() -> str:
    import platform  # noqa: PLC0415  # not needed on Linux

    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}".strip()
    return f"{platform.system()} {platform.version()}".strip()


def _glibc(root: Path) -> Fact:
    path, source = "os.glibc", "confstr"
    ask = getattr(os, "confstr", None)  # not there on Windows
    try:
        answer = ask("CS_GNU_LIBC_VERSION") if ask else None
    except (ValueError, OSError):  # the C library does not know the name
        answer = None
    version = parse_glibc(answer or "")
    if version is not None:
        return known(path, version, source)
    if any(name.startswith("ld-musl-") for name in names_in(inside(root, "/lib"))):
        return absent(path, source, "the C library is musl")
    return absent(path, source, "the C library is not glibc")


def parse_glibc(text: str) -> str | None:
    """Return `2.36` for `glibc 2.36`."""
    match = re.fullmatch(r"glibc (\d+(?:\.\d+)+)\s*", text)
    return match[1] if match else None


def _core_count() -> int | None:
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity else os.cpu_count()


def _is_jetson(root: Path) -> bool:
    if exists(inside(root, _TEGRA_RELEASE)):
        return True
    board = "\n".join(read_text(inside(root, name)) or "" for name in _BOARD_FILES)
    return parse_board(board)


def parse_board(text: str) -> bool:
    """Whether a device tree's model or compatible list names a Jetson or another Tegra."""
    return re.search(r"nvidia,tegra|\bTegra|\bJetson", text, re.IGNORECASE) is not None


def _has_rocm(root: Path) -> bool:
    return all(exists(inside(root, name)) for name in ("/dev/kfd", "/sys/module/amdgpu"))
