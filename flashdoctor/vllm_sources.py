"""The sources of an installed vLLM: where they are, and which flags they define. Never imported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from flashdoctor.model.regex import regex
from flashdoctor.target.choose import choose_python
from flashdoctor.tune.flags import Flag
from flashdoctor.tune.vllm_ast import DEFINE, read_flags

MAX_FILE_BYTES = 4 * 1024 * 1024
"""The largest file that any release has there is a tenth of it."""

_FOLDERS = ("lib/python3*/site-packages", "lib64/python3*/site-packages", "Lib/site-packages",
            "local/lib/python3*/dist-packages", "lib/python3/dist-packages")  # fmt: skip
_METADATA = regex(r"vllm-(\d[^-]*)\.(?:dist|egg)-info")


class Installed(NamedTuple):
    """A vLLM in the target: its version, the folder it lies in, and the flags it defines.

    `flags` is empty where its sources could not be read.
    """

    version: str
    folder: Path
    flags: Mapping[str, Flag]


def read_installed(python: str | None) -> Installed | None:
    """Return the vLLM of the target Python, None where there is none.

    `python` as the user named it, None for the active environment; `TargetNotFoundError` where it
    names nothing. Nothing is run.
    """
    executable = Path(choose_python(python).path)
    for folder in _site_folders(executable):
        version = _version(folder)
        if version is not None:
            return Installed(version, folder, read_flags(read_sources(folder)))
    return None


def read_sources(folder: Path) -> dict[str, str]:
    """Return what defines flags below `folder` (site-packages, or a source tree), by path."""
    found: dict[str, str] = {}
    for file in _files(folder):
        text = _read(file)
        if text is not None:
            found[file.relative_to(folder).as_posix()] = text
    return found


def _files(folder: Path) -> Iterator[Path]:
    for name in DEFINE:
        place = folder / name
        yield from sorted(place.glob("*.py")) if name.endswith("/") else (place,)


def _read(file: Path) -> str | None:
    try:
        if not file.is_file() or file.stat().st_size > MAX_FILE_BYTES:
            return None
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _site_folders(executable: Path) -> Iterator[Path]:
    """Yield where an interpreter keeps packages: beside it, then beside what it is a link to."""
    prefixes = dict.fromkeys((executable.parent.parent, executable.resolve().parent.parent))
    for prefix in prefixes:
        for pattern in _FOLDERS:
            yield from _directories(prefix.glob(pattern))


def _directories(paths: Iterable[Path]) -> Iterator[Path]:
    yield from sorted(path for path in paths if (path / "vllm").is_dir())


def _version(folder: Path) -> str | None:
    for item in sorted(folder.glob("vllm-*")):
        match = _METADATA.fullmatch(item.name)
        if match is not None:
            return match[1]
    return None
