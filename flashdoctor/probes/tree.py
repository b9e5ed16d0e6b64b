"""Reading a machine's files below any root, so that a probe can be shown another machine's.

A name is what the machine itself calls a file (`/etc/os-release`), a path is where it stands for
us. Links are followed as the running system follows them: only below `/` do absolute ones lead
where they do on that machine.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

SYSTEM_ROOT = Path("/")

_MOST_BYTES = 1 << 24  # what a probe reads as text is never larger


def inside(root: Path, name: str) -> Path:
    """Return where the file of that name stands below `root`."""
    return Path(name) if root == SYSTEM_ROOT else root / name.lstrip("/")


def outside(root: Path, path: Path) -> str:
    """Return what the machine below `root` calls the file at `path`."""
    if root == SYSTEM_ROOT or not path.is_relative_to(root):
        return str(path)
    return f"/{path.relative_to(root).as_posix()}"


def resolved(path: Path) -> Path:
    """Return the path behind all links; the path itself where they cannot be followed."""
    with suppress(OSError, ValueError, RuntimeError):  # RuntimeError: a loop, before Python 3.13
        return Path(os.path.realpath(path))
    return path


def read_text(path: Path) -> str | None:
    """Return the start of a text file, None where there is none or it may not be read."""
    raw = read_bytes(path)
    return None if raw is None else raw.decode("utf-8", "replace")


def read_bytes(path: Path) -> bytes | None:
    """Return the start of a file, None where there is none or it may not be read."""
    with suppress(OSError, ValueError), path.open("rb") as file:  # ValueError: a null byte
        return file.read(_MOST_BYTES)
    return None


def is_file(path: Path) -> bool:
    """Whether a file stands there that this user may see."""
    with suppress(OSError, ValueError):
        return path.is_file()
    return False


def exists(path: Path) -> bool:
    """Whether anything stands there that this user may see."""
    with suppress(OSError, ValueError):
        return path.exists()
    return False


def names_in(path: Path) -> list[str]:
    """Return what a folder holds, sorted; nothing where there is no such folder."""
    with suppress(OSError, ValueError):
        return sorted(os.listdir(path))  # noqa: PTH208  # names are wanted, not a Path of each
    return []


def on_path(root: Path, search: str, program: str) -> list[Path]:
    """Return every file of that name that could be run from the folders of a PATH, in order."""
    suffixes = ("", ".exe", ".bat", ".cmd") if os.name == "nt" else ("",)
    folders = [inside(root, folder) for folder in search.split(os.pathsep) if folder]
    files = [folder / f"{program}{suffix}" for folder in folders for suffix in suffixes]
    return [file for file in files if is_file(file) and os.access(file, os.X_OK)]
