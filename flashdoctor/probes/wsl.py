"""The Windows Subsystem for Linux: its version, and what makes a GPU reachable inside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.model.regex import regex
from flashdoctor.probes.library_search import find_libraries
from flashdoctor.probes.system import read_kernel
from flashdoctor.probes.tree import exists, inside, is_file, names_in, read_text

PATHS = (
    "wsl.version",
    "wsl.dxg",
    "wsl.library_path",
    "wsl.dxgdmal",
    "wsl.linux_driver_packages",
)

LIBRARIES = "/usr/lib/wsl/lib"
_DRIVER_STORE = "/usr/lib/wsl/drivers"
_DXGDMAL = "libnvdxgdmal.so.1"
_DPKG_STATUS = "/var/lib/dpkg/status"

# Packages of Debian, Ubuntu and NVIDIA that bring a Linux driver, whole or in part.
_DRIVER_PACKAGE = regex(
    r"(?:nvidia-(?:driver|utils|dkms|headless|kernel-(?:source|open|common|dkms)|open|compute-utils|"
    r"smi)|libnvidia-(?:compute|gl|cfg1|common|decode|encode|extra|fbc1|ml1?)|"
    r"cuda-drivers|libcuda1|xserver-xorg-video-nvidia)(?:-[\w.+-]+)?"
)


def read_wsl(root: Path, environ: Mapping[str, str]) -> list[Fact]:
    """Read the version (0 outside WSL) and, inside, what reaches the GPU or stands in its way."""
    version = find_version(root, environ)
    facts = [known("wsl.version", version, "kernel release")]
    if not version:
        return [*facts, *(absent(path, "not in WSL") for path in PATHS[1:])]
    libcuda = is_file(inside(root, f"{LIBRARIES}/libcuda.so.1"))
    return [
        *facts,
        known("wsl.dxg", exists(inside(root, "/dev/dxg")), "/dev"),
        known("wsl.library_path", libcuda, LIBRARIES),
        known("wsl.dxgdmal", _has_dxgdmal(root, environ), f"{LIBRARIES}, {_DRIVER_STORE}"),
        _packages(root),
    ]


def find_version(root: Path, environ: Mapping[str, str]) -> int:
    """Return 1 or 2 inside WSL, 0 outside.

    A kernel of one's own need not say that it is Microsoft's: then WSL's variable together with the
    GPU's device or libraries tells.
    """
    version = parse_kernel(read_kernel(root) or "")
    if version or not ("WSL_DISTRO_NAME" in environ or "WSL_INTEROP" in environ):
        return version
    return 2 if any(exists(inside(root, name)) for name in ("/dev/dxg", LIBRARIES)) else 0


def parse_kernel(release: str) -> int:
    """Return the WSL version in a kernel release.

    `4.4.0-19041-Microsoft` is 1, `5.15.167.4-microsoft-standard-WSL2` is 2, any other 0.
    """
    folded = release.lower()
    if "wsl2" in folded or "microsoft-standard" in folded:
        return 2
    return 1 if folded.endswith("-microsoft") else 0


def _has_dxgdmal(root: Path, environ: Mapping[str, str]) -> bool:
    store = inside(root, _DRIVER_STORE)
    folders = [inside(root, LIBRARIES), *(store / name for name in names_in(store))]
    if any(is_file(folder / _DXGDMAL) for folder in folders):
        return True
    return bool(find_libraries(root, environ, _DXGDMAL))


def _packages(root: Path) -> Fact:
    path = "wsl.linux_driver_packages"
    status = read_text(inside(root, _DPKG_STATUS))
    if status is None:
        return unknown(path, "this distribution keeps no dpkg database", _DPKG_STATUS)
    return known(path, parse_dpkg_status(status), _DPKG_STATUS)


def parse_dpkg_status(text: str) -> list[str]:
    """Return the driver packages that are installed; one removed but for its settings is not."""
    found = re.findall(
        r"^Package: (\S*(?:nvidia|cuda)\S*)\n"
        r"(?:(?!Package:|Status:).+\n)*Status: \S+ \S+ installed$",
        text,
        re.MULTILINE,
    )
    return sorted({name for name in found if _DRIVER_PACKAGE.fullmatch(name)})
