# ruff: noqa: PTH109, PTH112, PTH113, PTH118, PTH121 - pathlib's import costs more than this whole part
"""Agent part: the interpreter itself, `python.*`."""

from __future__ import annotations

import os
import site
import sys

IDENTITY_PATHS = (
    "python.version", "python.implementation", "python.tag", "python.executable",
    "python.environment",
)  # fmt: skip


def version_text() -> str:
    """Return `3.11.7`, `3.13.0rc1`."""
    info = sys.version_info
    text = "%d.%d.%d" % (info[0], info[1], info[2])
    ending = {"alpha": "a", "beta": "b", "candidate": "rc"}.get(info[3])
    return text + ending + str(info[4]) if ending else text


def wheel_tag() -> str:
    """Return the wheel tag: `cp310`, `cp313t` (free-threaded), `pp310`; else the plain name."""
    name = sys.implementation.name
    prefix = {"cpython": "cp", "pypy": "pp", "graalpy": "graalpy"}.get(name, name)
    # Windows has no abiflags before Python 3.14.
    free = "t" in getattr(sys, "abiflags", "") or "free-threading" in sys.version
    threaded = "t" if name == "cpython" and free else ""
    return "%s%d%d%s" % (prefix, sys.version_info[0], sys.version_info[1], threaded)


def environment_kind() -> str:
    """Return venv, conda or system; a venv made from a conda Python is a venv."""
    if sys.prefix != getattr(sys, "base_prefix", sys.prefix):
        return "venv"
    return "conda" if os.path.isdir(os.path.join(sys.prefix, "conda-meta")) else "system"


def marker_environment() -> dict:
    """Return the variables that environment markers may name (PEP 508)."""
    system, release, version, machine = _uname()
    name = sys.implementation.name
    return {
        "os_name": os.name,
        "sys_platform": sys.platform,
        "platform_system": system,
        "platform_release": release,
        "platform_version": version,
        "platform_machine": machine,
        "python_version": "%d.%d" % sys.version_info[:2],
        "python_full_version": version_text(),
        "implementation_name": name,
        "implementation_version": "%d.%d.%d" % sys.implementation.version[:3],
        "platform_python_implementation": {"cpython": "CPython", "pypy": "PyPy"}.get(name, name),
    }


def _uname() -> tuple:
    if hasattr(os, "uname"):
        known = os.uname()
        return known.sysname, known.release, known.version, known.machine
    import platform

    return platform.system(), platform.release(), platform.version(), platform.machine()


def has_headers() -> bool:
    """Whether Python.h of this interpreter is there.

    sysconfig knows for sure but takes longer than the rest; the usual place is tried first.
    """
    name = "python%d.%d%s" % (*sys.version_info[:2], getattr(sys, "abiflags", ""))
    usual = os.path.join(getattr(sys, "base_prefix", sys.prefix), "include", name, "Python.h")
    if os.path.isfile(usual):
        return True
    import sysconfig

    folders = (sysconfig.get_path("include"), sysconfig.get_path("platinclude"))
    return any(folder and os.path.isfile(os.path.join(folder, "Python.h")) for folder in folders)


def user_site() -> str | None:
    """Return the user site folder where it is on `sys.path`, None where it is not."""
    if not site.ENABLE_USER_SITE:
        return None
    folder = site.getusersitepackages()
    return folder if folder in sys.path else None


def working_directory() -> str | None:
    """Return the working directory, None where it has been deleted."""
    try:
        return os.getcwd()
    except OSError:
        return None


def state_identity(report: object) -> None:
    """State version, implementation, tag, executable and kind of the interpreter."""
    report.known("python.version", version_text(), "sys.version_info")
    report.known("python.implementation", sys.implementation.name, "sys.implementation")
    report.known("python.tag", wheel_tag(), "sys.implementation, sys.abiflags")
    report.known_or_absent("python.executable", sys.executable or None, "sys.executable")
    report.known("python.environment", environment_kind(), "sys.prefix")


def state_surroundings(report: object) -> None:
    """State headers, PYTHONPATH and the user site."""
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    report.known_or_absent("python.pythonpath", entries or None, "PYTHONPATH")
    report.known("python.user_site", user_site() is not None, "sys.path")
    report.known("python.headers", has_headers(), "Python.h")


def state_packages(report: object, scan: object, packages: object) -> None:
    """State what depends on where the watched packages stand."""
    report.known("python.pip", scan.first("pip") is not None, "sys.path")
    report.known("python.user_site_packages", user_site_packages(scan), "sys.path")
    hidden = [name for name in packages.MODULES if is_shadowed(scan, name, packages.MODULES[name])]
    report.known("python.shadowed", hidden, "sys.path and the working directory")


def user_site_packages(scan: object) -> list:
    """Return the watched distributions that Python takes from the user site."""
    folder = user_site()
    return sorted(
        name for name, found in scan.distributions.items() if folder and found[0].folder == folder
    )


def is_shadowed(scan: object, module: str, distributions: tuple) -> bool:
    """Whether a program started here would import another copy than the installed one.

    The working directory comes first for `python -c`, `python -m` and an interactive session.
    """
    here = working_directory()
    providers = [folder for folder in scan.folders if scan.provides(folder, module)]
    owner = scan.first(*distributions)
    first = providers[0] if providers else None
    if here and first and not os.path.samefile(here, first) and _stands_in(here, module):
        return True
    return bool(owner and owner.folder in providers and owner.folder != first)


def _stands_in(folder: str, module: str) -> bool:
    package = os.path.join(folder, module)
    return os.path.isfile(os.path.join(package, "__init__.py")) or os.path.isfile(package + ".py")
