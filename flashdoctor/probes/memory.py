"""Memory of the host: how much there is, how much this process may use, and /dev/shm."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.probes.tree import exists, inside, read_text

PATHS = ("os.memory_mib", "os.cgroup_memory_mib", "os.shm_mib")

_MIB = 1 << 20
_UNLIMITED = 1 << 60  # cgroup v1 writes "no limit" as the largest multiple of a page
_MEMINFO = "/proc/meminfo"
_CGROUP = "/proc/self/cgroup"
_SHM = "/dev/shm"  # noqa: S108  # its size is read, nothing is put there


def read_memory(root: Path, environ: Mapping[str, str]) -> list[Fact]:
    """Read physical memory, the tightest memory limit of this process's cgroups, and /dev/shm."""
    del environ  # every probe takes one
    return [_physical(root), _limit(root), _shm(root)]


def _physical(root: Path) -> Fact:
    path = "os.memory_mib"
    size = parse_meminfo(read_text(inside(root, _MEMINFO)) or "")
    if size is not None:
        return known(path, size // _MIB, _MEMINFO)
    with suppress(AttributeError, ValueError, OSError):  # macOS has sysconf, Windows has not
        return known(
            path, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // _MIB, "sysconf"
        )
    return unknown(path, "not read on this system", _MEMINFO)


def parse_meminfo(text: str) -> int | None:
    """Return the total memory of a /proc/meminfo, in bytes."""
    match = re.search(r"^MemTotal:\s+(\d+) kB$", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def _limit(root: Path) -> Fact:
    path = "os.cgroup_memory_mib"
    cgroups = read_text(inside(root, _CGROUP))
    if cgroups is None:
        return absent(path, _CGROUP, "the kernel has no control groups")
    limits = [
        (limit, name)
        for name in _limit_files(cgroups)
        if (limit := parse_limit(read_text(inside(root, name)) or "")) is not None
    ]
    if not limits:
        return absent(path, _CGROUP, "no memory limit")
    limit, name = min(limits)
    return known(path, limit // _MIB, name)


def _limit_files(cgroups: str) -> Iterator[str]:
    """Yield the files that may hold a limit: this process's groups and all above them."""
    v1, v2 = parse_cgroup(cgroups)
    for top, file, group in (
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", v1),
        ("/sys/fs/cgroup", "memory.max", v2),
        ("/sys/fs/cgroup/unified", "memory.max", v2),
    ):
        if group is not None:
            steps = PurePosixPath(group.lstrip("/"))
            yield from (f"{top}/{step}/{file}" for step in (steps, *steps.parents))


def parse_cgroup(text: str) -> tuple[str | None, str | None]:
    """Return this process's memory group (v1) and unified group (v2) from /proc/self/cgroup.

    A group that stands outside what this process may see (`/../x`) counts as the root.
    """
    v1 = v2 = None
    for line in text.splitlines():
        parts = line.split(":", 2)
        if len(parts) != 3:  # noqa: PLR2004  # hierarchy, controllers, group: cgroups(7)
            continue
        group = "/" if ".." in parts[2].split("/") else parts[2]
        if parts[:2] == ["0", ""]:
            v2 = group
        elif "memory" in parts[1].split(","):
            v1 = group
    return v1, v2


def parse_limit(text: str) -> int | None:
    """Return a memory limit in bytes; None for `max` and what cgroup v1 writes for no limit."""
    word = text.strip()
    if not (word.isascii() and word.isdigit()) or len(word) > len(str(_UNLIMITED)):
        return None
    return int(word) if int(word) < _UNLIMITED else None


def _shm(root: Path) -> Fact:
    path = inside(root, _SHM)
    if not exists(path):
        return absent("os.shm_mib", _SHM)
    try:
        room = os.statvfs(path)
    except (AttributeError, OSError) as error:  # AttributeError: Windows, a folder of that name
        reason = getattr(error, "strerror", None) or "not on this system"
        return unknown("os.shm_mib", f"cannot be read: {reason}", _SHM)
    return known("os.shm_mib", room.f_frsize * room.f_blocks // _MIB, _SHM)
