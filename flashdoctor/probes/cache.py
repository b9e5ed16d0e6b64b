"""Results that depend on files alone, kept between runs as long as those files are the same.

A cache that cannot be read or written, or holds nonsense, costs time and nothing else.
"""

from __future__ import annotations

import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from flashdoctor import __version__

FILE_NAME = "libraries.json"

# Raise it with every change of what is kept, or of how it is worked out.
_FORMAT = 2
_MOST_ENTRIES = 512  # one environment with CUDA has eighty
_MOST_BYTES = 1 << 23
# A file written this recently could change again within one tick of its clock.
_SETTLED_NS = 2_000_000_000


class Cache:
    """JSON values by label and files. Make one with `open_cache`, end with `save`."""

    def __init__(self, path: Path | None, entries: dict[str, Any]) -> None:
        self._path = path
        self._entries = entries
        self._changed = False

    def remember(self, label: str, files: Sequence[Path], compute: Callable[[], Any]) -> Any:
        """Return what `compute` gave for these very files the last time, else what it gives now.

        The value must be JSON. What `compute` raises is raised and not kept.
        """
        key = "\0".join((label, *map(str, files)))
        before = _identities(files)
        held: Any = self._entries.get(key)
        if before and _is_entry(held) and held["files"] == before:
            return held["value"]
        value = compute()
        if before and before == _identities(files) and _settled(before):
            self._entries.pop(key, None)
            self._entries[key] = {"files": before, "value": value, "check": _check(value)}
            self._changed = True
        return value

    def save(self) -> None:
        """Write what is new to the disk, if that can be done."""
        if self._path is None or not self._changed:
            return
        newest = dict(list(self._entries.items())[-_MOST_ENTRIES:])
        body = {"format": _FORMAT, "tool": __version__, "entries": newest}
        with suppress(OSError):
            _replace(self._path, json.dumps(body))


def open_cache(folder: Path | None) -> Cache:
    """Open the cache in `folder`; without a folder nothing outlives the process."""
    if folder is None:
        return Cache(None, {})
    path = folder / FILE_NAME
    return Cache(path, _read_entries(path))


def default_folder(
    environ: Mapping[str, str] = os.environ, platform: str = sys.platform
) -> Path | None:
    """Return the user's cache folder for flashdoctor, None where there is no telling.

    XDG_CACHE_HOME counts everywhere; else `%LOCALAPPDATA%`, `~/Library/Caches` or `~/.cache`.
    """
    named = environ.get("XDG_CACHE_HOME", "")
    if platform == "win32" and not named:
        named = environ.get("LOCALAPPDATA", "")
    if Path(named).is_absolute():  # the XDG specification has relative ones ignored
        return Path(named) / "flashdoctor"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home / ("Library/Caches" if platform == "darwin" else ".cache") / "flashdoctor"


def parse_entries(text: str) -> dict[str, Any]:
    """Return the entries of a cache file; none where it is damaged or of another version."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(body, dict) or body.get("format") != _FORMAT:
        return {}
    entries = body.get("entries")
    return entries if isinstance(entries, dict) and body.get("tool") == __version__ else {}


def _read_entries(path: Path) -> dict[str, Any]:
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return {}
        return parse_entries(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def _is_entry(held: Any) -> bool:
    return (
        isinstance(held, dict)
        and {"files", "value", "check"} <= held.keys()
        and held["check"] == _check(held["value"])
    )


def _check(value: Any) -> int:
    return zlib.crc32(json.dumps(value, sort_keys=True).encode())


def _identities(files: Sequence[Path]) -> list[list[int]]:
    """Return what tells these files from others and from themselves before a change.

    Nothing where one of them cannot be read.
    """
    try:
        return [
            [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
            for found in map(os.stat, files)
        ]
    except (OSError, ValueError):
        return []


def _settled(identities: list[list[int]]) -> bool:
    newest = max(max(changed, created) for _, changed, created, _ in identities)
    return time.time_ns() - newest > _SETTLED_NS


def _replace(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the new one, whole."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}.{time.monotonic_ns()}")
    try:
        fresh.write_text(text, "utf-8")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
