"""What a pyenv shim would start: its shell scripts cost about 85 ms at every start."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

_SHIMS = "shims"


def behind_shim(shim: Path, environ: Mapping[str, str], folder: Path | None = None) -> Path | None:
    """Return the interpreter that this shim starts in `folder`, the current one by default.

    None where it is no shim, or where pyenv itself has to decide (`system`, a version given in
    part, one that is not installed): then the shim is run as it is. Source: pyenv README,
    "Understanding Python version selection".
    """
    if shim.parent.name != _SHIMS:
        return None
    root = shim.parent.parent
    chosen = next(_choices(root, environ, folder or _current_folder()), "")
    for version in chosen.split(":"):
        home = root / "versions" / version
        if not version or version == "system" or "/" in version or not home.is_dir():
            return None
        interpreter = home / "bin" / shim.name
        if interpreter.is_file() and os.access(interpreter, os.X_OK):
            return interpreter
    return None


def _current_folder() -> Path:
    with suppress(OSError):  # somebody has deleted it
        return Path.cwd()
    return Path("/")


def _choices(root: Path, environ: Mapping[str, str], folder: Path) -> Iterator[str]:
    if environ.get("PYENV_VERSION"):
        yield environ["PYENV_VERSION"]
    start = Path(environ["PYENV_DIR"]) if environ.get("PYENV_DIR") else folder
    files = [parent / ".python-version" for parent in (start, *start.parents)]
    for file in (*files, root / "version"):
        with suppress(OSError, UnicodeDecodeError):
            words = file.read_text(encoding="utf-8").split()
            if words:
                yield ":".join(words)
