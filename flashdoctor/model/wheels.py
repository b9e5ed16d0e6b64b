"""Wheel file names, with what builders of CUDA extensions write into the local version."""

from __future__ import annotations

import re
from typing import NamedTuple

from flashdoctor.model.regex import regex

_DISTRIBUTION = regex(r"[A-Za-z0-9](?:[\w.]*[A-Za-z0-9])?")
_VERSION = regex(r"\d+(?:\.\d+)*[A-Za-z0-9.!_]*(?:\+[A-Za-z0-9._]+)?")
_BUILD = regex(r"\d[\w.]*")
_TAG = regex(r"\w+(?:\.\w+)*")
_CUDA = regex(r"(?:^|[._])cu(?:da)?[._]?(\d{2})(?:\.?(\d))?(?!\d)", re.IGNORECASE)
_TORCH = regex(r"(?:torch|pt)[._]?(\d+)\.(\d+)", re.IGNORECASE)
_ABI = regex(r"cxx11[._]?abi[._]?(true|false|1|0)", re.IGNORECASE)
_MANYLINUX = regex(r"manylinux_(\d+)_(\d+)_")
_LEGACY_MANYLINUX = {"manylinux1_": "2.5", "manylinux2010_": "2.12", "manylinux2014_": "2.17"}
_ESCAPE = regex(r"%([0-9A-Fa-f]{2})")
_FIELDS = (5, 6)


class WheelName(NamedTuple):
    """The parts of `name-version(-build)-python-abi-platform.whl`.

    `cuda` (`12`, `12.3`), `torch` (`2.6`) and `cxx11_abi` come from the local version, and are
    None where it does not say. `file` is the name without URL encoding.
    """

    file: str
    name: str
    version: str
    build: str | None
    python: str
    abi: str
    platform: str
    cuda: str | None
    torch: str | None
    cxx11_abi: bool | None

    @property
    def public_version(self) -> str:
        """The version without its local part."""
        return self.version.partition("+")[0]

    @property
    def glibc(self) -> str | None:
        """The lowest glibc that a manylinux tag promises; None without such a tag."""
        floors = [floor for tag in self.platform.split(".") if (floor := _glibc_of_tag(tag))]
        return min(floors, key=lambda text: tuple(map(int, text.split("."))), default=None)


def parse_wheel_name(name: str) -> WheelName | None:
    """Read a wheel's file name, URL or path; None for anything that is no wheel."""
    address = name.strip().partition("#")[0].partition("?")[0].replace("\\", "/")
    # The only escapes in a wheel's name are ASCII; urllib.parse takes longer to load than this.
    file = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), address).rpartition("/")[2]
    if not file.lower().endswith(".whl"):
        return None
    fields = file[: -len(".whl")].split("-")
    if len(fields) not in _FIELDS:
        return None
    distribution, version, *build, python, abi, platform = fields
    if not _fits(distribution, version, build, (python, abi, platform)):
        return None
    local = version.partition("+")[2]
    return WheelName(
        file=file,
        name=re.sub(r"[-_.]+", "-", distribution).lower(),
        version=version,
        build=build[0] if build else None,
        python=python,
        abi=abi,
        platform=platform,
        cuda=_cuda(local),
        torch=_torch(local),
        cxx11_abi=_abi(local),
    )


def _fits(distribution: str, version: str, build: list[str], tags: tuple[str, ...]) -> bool:
    return bool(
        _DISTRIBUTION.fullmatch(distribution)
        and _VERSION.fullmatch(version)
        and all(_BUILD.fullmatch(item) for item in build)
        and all(_TAG.fullmatch(tag) for tag in tags)
    )


def _cuda(local: str) -> str | None:
    """Return `12` for `cu12`, `12.3` for `cu123`, `13.0` for `cu130`."""
    match = _CUDA.search(local)
    if match is None:
        return None
    return f"{match[1]}.{match[2]}" if match[2] else match[1]


def _torch(local: str) -> str | None:
    match = _TORCH.search(local)
    return f"{int(match[1])}.{int(match[2])}" if match else None


def _abi(local: str) -> bool | None:
    match = _ABI.search(local)
    return match[1].lower() in {"true", "1"} if match else None


def _glibc_of_tag(tag: str) -> str | None:
    match = _MANYLINUX.match(tag)
    if match:
        return f"{int(match[1])}.{int(match[2])}"
    return next(
        (glibc for start, glibc in _LEGACY_MANYLINUX.items() if tag.startswith(start)), None
    )
