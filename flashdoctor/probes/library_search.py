"""Where the dynamic loader looks for a library by name, and which file it takes.

Order: LD_LIBRARY_PATH, the loader's cache, the default folders. Source: ld.so(8). What a program
adds by RPATH, RUNPATH or LD_PRELOAD is that program's own and is left out.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from flashdoctor.probes.ld_cache import NAME as CACHE_NAME
from flashdoctor.probes.ld_cache import parse_ld_cache
from flashdoctor.probes.tree import inside, is_file, outside, read_bytes, resolved

_CPUS = ("x86_64", "aarch64")
DEFAULT_FOLDERS = (
    *(f"{top}/{cpu}-linux-gnu" for cpu in _CPUS for top in ("/lib", "/usr/lib")),
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
)

_ELF_HEAD_BYTES = 20  # magic, class, ..., machine
_CLASS_64 = 2
_MACHINES = {"x86_64": 62, "aarch64": 183}  # e_machine by `uname -m`
_CACHE_KINDS = {"x86_64": 0x0300, "aarch64": 0x0A00}  # the upper byte of a cache entry's flags
_KIND_MASK = 0xFF00


class Candidate(NamedTuple):
    """A library file that the loader could take.

    `name` is what the loader calls it, `target` what stands behind all links, `via` what led
    there: LD_LIBRARY_PATH, the cache or a default folder.
    """

    name: str
    target: str
    via: str
    path: Path


def find_libraries(root: Path, environ: Mapping[str, str], soname: str) -> list[Candidate]:
    """Return every file of that name on the search path, the one that the loader takes first.

    A library for another machine is passed over, as the loader does; so is a second name for a
    file already met. Empty on systems without this loader.
    """
    cpu = os.uname().machine if sys.platform == "linux" else ""
    found: dict[str, Candidate] = {}
    for name, via in _places(root, environ, soname, cpu):
        path = inside(root, name)
        if is_file(path) and fits(path, cpu):
            target = outside(root, resolved(path))
            found.setdefault(target, Candidate(name=name, target=target, via=via, path=path))
    return list(found.values())


def _places(
    root: Path, environ: Mapping[str, str], soname: str, cpu: str
) -> Iterator[tuple[str, str]]:
    """Yield the names that the loader tries, in order."""
    if not cpu:
        return
    for folder in split_search_path(environ.get("LD_LIBRARY_PATH", "")):
        yield f"{folder.rstrip('/')}/{soname}", "LD_LIBRARY_PATH"
    for name in _cached(root, soname, cpu):
        yield name, "ld.so.cache"
    for folder in DEFAULT_FOLDERS:
        yield f"{folder}/{soname}", "default folder"


def split_search_path(value: str) -> list[str]:
    """Return the folders of an LD_LIBRARY_PATH; an empty entry is the working directory."""
    return [folder or "." for folder in re.split("[:;]", value)] if value else []


def _cached(root: Path, soname: str, cpu: str) -> list[str]:
    """Return what the cache holds for this machine.

    Nothing where the first of them is gone: the loader takes the first or none.
    """
    entries = parse_ld_cache(read_bytes(inside(root, CACHE_NAME)) or b"", soname)
    kind = _CACHE_KINDS.get(cpu)
    names = [entry.path for entry in entries if kind in (None, entry.flags & _KIND_MASK)]
    return names if names and is_file(inside(root, names[0])) else []


def fits(path: Path, cpu: str) -> bool:
    """Whether the loader takes this file on a machine of that kind.

    It passes over libraries for another machine, but stops with an error at a file that is no
    library at all, so such a file is one that it takes.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_ELF_HEAD_BYTES)
    except OSError:
        return False
    return parse_fits(head, cpu)


def parse_fits(head: bytes, cpu: str) -> bool:
    """Tell from a library's first 20 bytes whether a loader on that machine passes over it."""
    if len(head) < _ELF_HEAD_BYTES or not head.startswith(b"\x7fELF"):
        return True
    bits, machine = head[4], int.from_bytes(head[18:20], "little")
    return bits == _CLASS_64 and machine == _MACHINES.get(cpu, machine)
