"""What uname, os-release, ldd, gcc, python, df and wsl print about the system. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from flashdoctor.logs.statements import MENTION, REPORT, STATED, LineParser, say, shorten
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

_MACHINES = {
    "x86_64": "linux_x86_64",
    "amd64": "linux_x86_64",
    "aarch64": "linux_aarch64",
    "arm64": "linux_aarch64",
}
_UNAME = regex(
    r"^\s*Linux (?:\S{1,64} )?(?P<kernel>\d{1,2}\.\d{1,3}[\w.+~-]{0,60}) (?P<rest>#\S.{0,200})"
)
_PROC_VERSION = regex(r"\bLinux version (?P<kernel>\d{1,2}\.\d{1,3}[\w.+~-]{0,60}) (?P<rest>)")
_RELEASE = regex(
    r"^\s*(?P<kernel>\d{1,2}\.\d{1,3}\.\d{1,4}[.\d]{0,6}-[\w.+~-]{0,60}?"
    r"(?:generic|azure|aws|gcp|oracle|WSL2|Microsoft|tegra|lowlatency|nvidia|amd64"
    r"|(?:el|fc|amzn|cm|azl)\d[\w.]{0,20}))(?P<rest>)\s*$"
)
_MACHINE = regex(r"^\s*(?:Linux )?(?P<machine>x86_64|aarch64|arm64)\s*$")
_PRETTY = regex(r"^\s*(?:PRETTY_NAME|DISTRIB_DESCRIPTION)=[\"']?([^\"'\n]{2,60})[\"']?\s*$")
_LSB = regex(r"^\s*Description:\s+((?:Ubuntu|Debian|CentOS|Red Hat|Rocky|Alma|Fedora"
                  r"|Linux Mint|openSUSE|SUSE|Arch|Pop!_OS|Manjaro|Oracle|Amazon)"
                  r"[^\n]{0,50}?)\s*$")  # fmt: skip
_ISSUE = regex(
    r"^\s*((?:CentOS(?: Linux| Stream)?|Red Hat Enterprise Linux(?: Server)?|Rocky Linux|AlmaLinux"
    r"|Oracle Linux Server|Amazon Linux|Fedora(?: Linux)?) release \d[\d.]{0,12})"
    r"(?: \([\w .]+\))?\s*$"
)
_LDD = regex(
    r"^\s*ldd \((?:GNU libc|[\w ./+~-]{1,80})\) (\d\.\d{1,2})\s*$"
    r"|GNU C Library \([^)\n]{1,80}\) (?:stable|development) release version (\d\.\d{1,2})"
)
_GCC = regex(
    r"^\s*(?P<name>gcc|g\+\+|cc|c\+\+|x86_64-linux-gnu-gcc|aarch64-linux-gnu-gcc)(?:-\d{1,2})?"
    r"(?:\.exe)? "
    r"\([^)\n]{1,80}\) (?P<version>\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)\b"
)
_GCC_V = regex(r"^\s*gcc version (?P<version>\d{1,2}\.\d{1,2}(?:\.\d{1,2})?) ")
_CLANG = regex(r"^\s*(?:[\w ]{1,20})?clang version (?P<version>\d{1,2}\.\d{1,2}\.\d{1,2})")
_MSVC = regex(
    r"Microsoft \(R\) C/C\+\+ .{0,40}?(?:Compiler|Compilador|compilateur).{0,20}?"
    r"(?P<version>\d{2}\.\d{2}(?:\.\d{3,6})?)",
    re.IGNORECASE,
)
_PYTHON = regex(
    r"^\s*Python (?P<version>\d\.\d{1,2}(?:\.\d{1,2})?(?:(?:a|b|rc)\d{1,2}|\+)?)"
    r"(?P<banner> ::| \(.{3,120}\) ?(?:\n|\[|$).{0,80})?\s*$"
)
_SHM = regex(
    r"^\s*(?:shm|tmpfs|none|/dev/shm)\s+(?P<size>\d{1,12}(?:\.\d)?)(?P<unit>[KMGT]?)i?B?\s+\S{1,12}\s+"
    r"\S{1,12}\s+\S{1,5}\s+/dev/shm\s*$"
)
_WSL_VERSION = regex(
    r"^\s*WSL version: [2-9]\.\d{1,2}\.\d{1,3}|^\s*\*?\s*(?:Ubuntu|Debian|kali|openSUSE|Fedora"
    r"|AlmaLinux|Arch|OracleLinux|docker-desktop)[\w.-]{0,40}\s+(?:Running|Stopped)\s+"
    r"(?P<two>[12])\s*$"
)
_MIB = {"": 1 / 1024, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2}


def _kernel(match: re.Match[str], line: Line) -> Iterator[Found]:
    source, kernel = "uname", match["kernel"]
    yield say("os.kernel", kernel, line, source)
    yield say("os.system", "Linux", line, source)
    yield from wsl_of_kernel(kernel, line, source)
    machine = re.search(r"\b(x86_64|aarch64)\b", match["rest"] or "")
    if machine:
        yield say("os.platform", _MACHINES[machine[1]], line, source)


def wsl_of_kernel(kernel: str, line: Line, source: str, trust: int = REPORT) -> Iterator[Found]:
    """Yield wsl.version where a kernel's release says that Microsoft built it."""
    if "microsoft" in kernel.lower():
        second = "wsl2" in kernel.lower() or not kernel.lower().startswith(("3.", "4.4."))
        yield say("wsl.version", 2 if second else 1, line, source, trust)


def _machine(match: re.Match[str], line: Line) -> Iterator[Found]:
    yield say("os.platform", _MACHINES[match["machine"]], line, "uname -m")


def _distribution(match: re.Match[str], line: Line) -> Iterator[Found]:
    yield say("os.distribution", match[1].strip(), line, "os-release")


def _glibc(match: re.Match[str], line: Line) -> Iterator[Found]:
    yield say("os.glibc", match[1] or match[2], line, "ldd --version")


def _compiler(name: str) -> Callable[[re.Match[str], Line], Iterator[Found]]:
    def found(match: re.Match[str], line: Line) -> Iterator[Found]:
        source = f"{name} --version"
        yield say("os.compiler", f"{name} {match['version']}", line, source)
        yield say("os.compiler_version", match["version"], line, source)

    return found


def _python(match: re.Match[str], line: Line) -> Iterator[Found]:
    trust = REPORT if match["banner"] else STATED
    yield say("python.version", match["version"].rstrip("+"), line, "python --version", trust)
    system = re.search(r"\bon (linux|win32|darwin)\b", match["banner"] or "")
    if system:
        names = {"linux": "Linux", "win32": "Windows", "darwin": "Darwin"}
        yield say("os.system", names[system[1]], line, "Python's banner")


def _shm(match: re.Match[str], line: Line) -> Iterator[Found]:
    mib = round(float(match["size"]) * _MIB[match["unit"]])
    yield say("os.shm_mib", mib, line, "df /dev/shm")


def _wsl(match: re.Match[str], line: Line) -> Iterator[Found]:
    if match["two"]:
        yield say("wsl.version", int(match["two"]), line, "wsl --list --verbose", MENTION)
    else:
        yield say("wsl.version", 2, line, "wsl --version", STATED)


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Line], Iterator[Found]]], ...] = (
    (_UNAME, _kernel),
    (_PROC_VERSION, _kernel),
    (_RELEASE, _kernel),
    (_MACHINE, _machine),
    (_PRETTY, _distribution),
    (_LSB, _distribution),
    (_ISSUE, _distribution),
    (_LDD, _glibc),
    (_GCC, _compiler("gcc")),
    (_GCC_V, _compiler("gcc")),
    (_CLANG, _compiler("clang")),
    (_MSVC, _compiler("msvc")),
    (_PYTHON, _python),
    (_SHM, _shm),
    (_WSL_VERSION, _wsl),
)


def _read(whole: Line) -> Iterator[Found]:
    line = shorten(whole)
    for pattern, reader in _READERS:
        if match := pattern.search(line.text):
            yield from reader(match, line)
            return


PARSER = LineParser(
    kind="system tools",
    keywords=(
        "linux", "-generic", "-azure", "-aws", "-gcp", "-oracle", "microsoft", "tegra", "-amd64",
        ".el", ".fc", ".amzn", "lowlatency", "-nvidia", "x86_64", "aarch64", "arm64",
        "pretty_name=", "distrib_description=", "description:", " release ", "ldd (",
        "gnu c library",
        "gcc",
        "g++", "clang version", "python ", "/shm", "wsl version", "running", "stopped",
    ),
    read=_read,
)  # fmt: skip
