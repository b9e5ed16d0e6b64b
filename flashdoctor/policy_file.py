"""Find and read a policy: `flashdoctor.toml`, or `[tool.flashdoctor]` of a `pyproject.toml`.

It is looked for in the working directory and above it, up to the folder of the repository or the
home folder. Where neither stands above, only the working directory counts: anybody may have put a
file into `/tmp`. The TOML reader is imported only where there is something to read.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from flashdoctor.errors import UsageError

NAME = "flashdoctor.toml"
PROJECT = "pyproject.toml"
MAX_BYTES = 1024 * 1024

_MARK = b"flashdoctor"  # no other pyproject.toml can hold the table
_REPOSITORY = ".git"


class Found(NamedTuple):
    """A policy's table as it was parsed, and the file's name as it may be shown."""

    file: str
    table: Any


def find_policy(folder: Path, home: Path | None) -> Found | None:
    """Return the nearest policy that holds in `folder`; None where there is none."""
    for place in _places(folder.absolute(), home):
        if os.path.isfile(own := place / NAME):  # noqa: PTH113 - Path.is_file raises where it may not look
            return _read(own, project=False)
        if os.path.isfile(project := place / PROJECT):  # noqa: PTH113 - the same
            found = _read(project, project=True)
            if found is not None:
                return found
    return None


def named_policy(name: str) -> Found:
    """Return the policy that the user named; `UsageError` where there is none in that file."""
    path = Path(name)
    found = _read(path, project=path.name == PROJECT)
    if found is None:
        raise UsageError(f"policy {_shown(path)} has no [tool.flashdoctor]")
    return found


def _places(folder: Path, home: Path | None) -> list[Path]:
    above = [folder, *folder.parents]
    for number, place in enumerate(above):
        if place == home or os.path.lexists(place / _REPOSITORY):
            return above[: number + 1]
    return above[:1]


def _read(path: Path, *, project: bool) -> Found | None:
    data = _bytes(path)
    if project and _MARK not in data:
        return None
    toml = _toml()
    try:
        table = toml.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"policy {_shown(path)} is not TOML: {error}") from None
    if not project:
        return Found(_shown(path), table)
    tool = table.get("tool")
    if not isinstance(tool, dict) or "flashdoctor" not in tool:
        return None
    return Found(_shown(path), tool["flashdoctor"])


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot read the policy {_shown(path)}: {reason}") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"policy {_shown(path)} is larger than 1 MiB")
    return data


def _shown(path: Path) -> str:
    """Return a name that tells no folder's name outside the working directory."""
    try:
        relative = Path(os.path.relpath(path))
    except (OSError, ValueError):  # another drive, a NUL, a working directory that is gone
        return path.name
    inside = not relative.is_absolute() and os.pardir not in relative.parts
    above = all(part == os.pardir for part in relative.parts[:-1])
    return str(relative) if inside or above else path.name


def _toml() -> Any:
    return import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
