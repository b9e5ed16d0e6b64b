"""Which Python to look into: the one that the failing program would have run in."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from flashdoctor.errors import TargetNotFoundError
from flashdoctor.target.pyenv import behind_shim

_INSIDE = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
_HINT = "give an interpreter, the folder of a virtual environment or a name on PATH to --python"


class Choice(NamedTuple):
    """An interpreter's path, its symbolic links kept, why it was taken, and whether by request.

    A virtual environment's `bin/python` is a link: followed, it would name the base interpreter.
    """

    path: Path
    why: str
    named: bool = False


def choose_python(requested: str | None = None, environ: Mapping[str, str] | None = None) -> Choice:
    """Return the interpreter asked for, else of the active environment, else the first on PATH.

    Never falls back to the interpreter that flashdoctor itself runs in: a tool installed on its
    own has its own environment, and nothing fails in there. TargetNotFoundError where there is
    none.
    """
    environ = os.environ if environ is None else environ
    if requested is not None:
        return Choice(path=_find_named(requested, environ), why="--python", named=True)
    for choice in _candidates(environ):
        return choice
    raise TargetNotFoundError("there is no python3 and no python on PATH", hint=_HINT)


def _candidates(environ: Mapping[str, str]) -> Iterator[Choice]:
    stale = ""
    for name, what in (
        ("VIRTUAL_ENV", "virtual environment"),
        ("CONDA_PREFIX", "conda environment"),
    ):
        folder = environ.get(name)
        if folder:
            inside = _inside(Path(folder))
            if inside is not None:
                yield Choice(path=inside, why=f"the active {what} ({name})")
            stale += f"; {name} names a folder without a Python"
    for name in _names():
        found = _on_path(name, environ)
        if found is not None:
            yield Choice(path=found, why=f"{name} on PATH{stale}")


def _names() -> tuple[str, str]:
    """Return what to look for on PATH; Windows' `python3` is as a rule a link to its store."""
    return ("python", "python3") if sys.platform == "win32" else ("python3", "python")


def _find_named(requested: str, environ: Mapping[str, str]) -> Path:
    path = Path(requested)
    with suppress(RuntimeError):  # nobody of that name has a home
        path = path.expanduser()
    if _is(path, Path.is_dir):
        inside = _inside(path)
        if inside is None:
            raise TargetNotFoundError(
                f"the folder {requested} is no virtual environment: it has no bin/python",
                hint=_HINT,
            )
        return inside
    if path.name == requested:
        found = _on_path(requested, environ)
        if found is not None:
            return found
    if not _is(path, Path.exists):
        raise TargetNotFoundError(f"there is no Python at {requested}", hint=_HINT)
    if not os.access(path, os.X_OK):
        raise TargetNotFoundError(f"{requested} is not executable", hint=_HINT)
    return path.absolute()


def _inside(folder: Path) -> Path | None:
    """Return the interpreter of an environment's folder."""
    for name in _INSIDE:
        candidate = folder.absolute() / name
        if _is(candidate, Path.is_file) and os.access(candidate, os.X_OK):
            return candidate
    return None


def _is(path: Path, what: Callable[[Path], bool]) -> bool:
    """Whether something stands there; what this user may not see does not."""
    with suppress(OSError):
        return what(path)
    return False


def _on_path(name: str, environ: Mapping[str, str]) -> Path | None:
    import shutil  # noqa: PLC0415 - slow to load, and an active environment needs none of it

    found = shutil.which(name, path=environ.get("PATH", os.defpath))
    if found is None:
        return None
    program = Path(found).absolute()
    return behind_shim(program, environ) or program
