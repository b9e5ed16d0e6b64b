"""What Python, `lsb_release`, gcc and Windows call a system, as facts. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flashdoctor.model.facts import Fact, known
from flashdoctor.model.versions import release

_LINUX = re.compile(
    r"Linux-(?P<kernel>[\w.+~-]{0,160}?)-?(?P<machine>x86_64|aarch64|arm64|ppc64le|i686|s390x)"
    r"(?:-with-?(?P<libc>[\w.-]{0,60}))?$",
    re.IGNORECASE,
)
_WINDOWS = re.compile(r"Windows-(?P<release>[\w.-]{1,40})$")
_MACOS = re.compile(r"(?:macOS|Darwin)-(?P<release>[\w.-]{1,80})$")
_GLIBC = re.compile(r"glibc-?(\d+\.\d+(?:\.\d+)?)")
_MACHINE = re.compile(
    r"\s*\((x86_64|aarch64|arm64|AMD64|ppc64le|i686|s390x|x64)\)\s*$", re.IGNORECASE
)
_WINDOWS_BUILD = re.compile(r"\s*\((?:10|6)\.\d{1,2}\.\d{1,6}(?P<bits>[^()]{0,40})\)\s*$")
_DISTRIBUTION = re.compile(
    r"\b(?:Ubuntu|Debian|Fedora|CentOS|Rocky|AlmaLinux|Arch|openSUSE|SUSE|Amazon Linux|Red Hat"
    r"|RHEL|Oracle Linux|Linux Mint|Pop!_OS|NixOS|Gentoo|Kali|Alpine)\b[^,;()]{0,60}",
    re.IGNORECASE,
)
_MICROSOFT_KERNEL = re.compile(r"microsoft", re.IGNORECASE)
_WSL = re.compile(r"\bWSL\s?(?P<version>[12])?\b", re.IGNORECASE)
_FIRST_WSL2_KERNEL = (4, 19)
_LONGEST = 200
_GCC = (
    re.compile(r"\)\s*(\d{1,3}(?:\.\d{1,3}){1,2})\b"),
    re.compile(r"(?:^|gcc\s+(?:version\s+)?)(\d{1,3}(?:\.\d{1,3}){1,2})\b", re.IGNORECASE),
)
_PYTHON = re.compile(
    r"\s{0,4}[`'\"]?(\d{1,2}\.\d{1,2}(?:\.\d{1,2}(?:(?:a|b|rc)\d{1,2})?)?\+?)(?![\d.])"
)
_WHEEL_MACHINES = {"arm64": "aarch64", "amd64": "x86_64", "x64": "x86_64"}


def state_platform(text: str, source: str) -> Iterator[Fact]:
    """Read `platform.platform()`: `Linux-5.15.0-78-generic-x86_64-with-glibc2.35`."""
    short = text.strip().strip("`'\"")[:_LONGEST]
    linux = _LINUX.match(short)
    if linux:
        yield from _state_linux(linux, source)
    elif _WINDOWS.match(short):
        yield known("os.system", "Windows", source)
    elif _MACOS.match(short):
        yield known("os.system", "Darwin", source)


def _state_linux(match: re.Match[str], source: str) -> Iterator[Fact]:
    kernel = match["kernel"]
    yield known("os.system", "Linux", source)
    yield known("os.platform", f"linux_{_wheel_machine(match['machine'])}", source)
    if release(kernel) is not None:
        yield known("os.kernel", kernel, source)
    version = wsl_version(kernel)
    if version:
        yield known("wsl.version", version, source)
    if "tegra" in kernel.lower():
        yield known("os.jetson", True, source)
    libc = _GLIBC.match(match["libc"] or "")
    if libc:
        yield known("os.glibc", libc[1], source)


def wsl_version(kernel: str) -> int | None:
    """Return 1 or 2 for a kernel of Microsoft's; None for others, which may be WSL all the same."""
    if not _MICROSOFT_KERNEL.search(kernel):
        return None
    named = _WSL.search(kernel)
    if named and named["version"]:
        return int(named["version"])
    numbers = release(kernel)
    return 1 if numbers is not None and numbers < _FIRST_WSL2_KERNEL else 2


def _wheel_machine(word: str) -> str:
    return _WHEEL_MACHINES.get(word.lower(), word.lower())


def state_os(text: str, source: str) -> Iterator[Fact]:
    """Read the name of a system: `Ubuntu 22.04.5 LTS (x86_64)`, `Microsoft Windows 11 Pro (...)`.

    A line that names Windows and a Linux in it is about the Linux.
    """
    short = text.strip()[:_LONGEST]
    wsl = _WSL.search(short)
    if wsl:
        yield known("wsl.version", int(wsl["version"] or 2), source)
    machine = _MACHINE.search(short)
    plain = _MACHINE.sub("", short)
    linux = _DISTRIBUTION.search(plain)
    if "windows" in plain.lower() and not (wsl or linux):
        yield from _state_windows(plain, source)
    elif plain.lower().startswith(("mac", "darwin")):
        yield known("os.system", "Darwin", source)
        yield known("os.distribution", plain, source)
    elif wsl or linux or "linux" in plain.lower() or machine:
        yield known("os.system", "Linux", source)
        yield from _state_distribution(plain, linux, source)
        if machine:
            yield known("os.platform", f"linux_{_wheel_machine(machine[1])}", source)


def _state_distribution(text: str, linux: re.Match[str] | None, source: str) -> Iterator[Fact]:
    """Take the words from a distribution's name on, else all up to the first comma."""
    if linux:
        name = linux[0]
    elif "windows" in text.lower() or _WSL.match(text):
        return
    else:
        name = re.split(r"[,;]", text)[0]
    if name.strip() and name.strip().lower() != "linux":
        yield known("os.distribution", name.strip(), source)


def _state_windows(text: str, source: str) -> Iterator[Fact]:
    build = _WINDOWS_BUILD.search(text)
    yield known("os.system", "Windows", source)
    yield known("os.distribution", _WINDOWS_BUILD.sub("", text).strip(), source)
    if build and "64" in build["bits"]:
        machine = "arm64" if "arm" in build["bits"].lower() else "amd64"
        yield known("os.platform", f"win_{machine}", source)


def state_gcc(text: str, source: str) -> Iterator[Fact]:
    """Read `(Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0`; gcc's own number stands behind the bracket."""
    short = text.strip()[:_LONGEST]
    if "mingw" in short.lower() or "-w64" in short.lower() or short.startswith("gcc version"):
        return  # Windows, where nvcc takes no gcc; and the compiler of the driver's kernel module
    found = next((match for pattern in _GCC if (match := pattern.search(short))), None)
    if found:
        yield known("os.compiler", f"gcc {found[1]}", source)
        yield known("os.compiler_version", found[1], source)


def state_libc(text: str, source: str) -> Iterator[Fact]:
    """Read `glibc-2.35`; nothing for another C library."""
    found = _GLIBC.match(text.strip())
    if found:
        yield known("os.glibc", found[1], source)


def state_python(text: str, source: str) -> Iterator[Fact]:
    """Read `sys.version` of any era: `3.12.3 (main, ...) [GCC 13.3.0]`, `3.8 (64-bit ...)`."""
    found = _PYTHON.match(text)
    if found is None:
        return
    yield known("python.version", found[1].rstrip("+"), source)
    if "[MSC v." in text:
        yield known("os.system", "Windows", source)
        machine = "arm64" if "(ARM64)" in text else "amd64"
        if machine == "arm64" or "(AMD64)" in text:
            yield known("os.platform", f"win_{machine}", source)
    if "free-threading build" in text:
        minor = re.match(r"(\d+)\.(\d+)", found[1])
        if minor:
            yield known("python.tag", f"cp{minor[1]}{minor[2]}t", source)
