# ruff: noqa: PTH109, PTH118, PTH110, PTH112 - pathlib's import costs more than this whole part
"""Agent part: the interpreter itself, `python.*`."""

from __future__ import annotations

import os
import site
import sys


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
    threaded = "t" if name == "cpython" and "t" in getattr(sys, "abiflags", "") else ""
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


def facts(tools: object) -> list:
    """Return the facts about the interpreter that need no look at packages."""
    known, guarded = tools.known, tools.guarded
    return (
        guarded(
            ["python.version", "python.implementation", "python.tag", "python.executable"], _identity
        )(tools)
        + guarded(["python.environment"], lambda _: [
            known("python.environment", environment_kind(), "sys.prefix")])(tools)
    )  # fmt: skip


def _identity(tools: object) -> list:
    return [tools.known("python.version", version_text(), "sys.version_info")]
