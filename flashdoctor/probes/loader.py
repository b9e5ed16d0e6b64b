"""Where the dynamic loader finds the libraries that torch and its extensions need."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from flashdoctor.probes.cache import Cache, open_cache
from flashdoctor.probes.elf import ElfError, open_elf

_LOADER_CACHE = Path("/etc/ld.so.cache")
_SYSTEM_FOLDERS = tuple(
    Path(root, folder)
    for root in ("/", "/usr")
    for folder in ("lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loader:
    """The search path of a process that has imported torch.

    `folders` are searched behind a library's own run path. `cache` is the content of
    `/etc/ld.so.cache`, empty where there is none: then nobody knows all folders of the system.
    """

    folders: tuple[Path, ...]
    system: tuple[Path, ...] = _SYSTEM_FOLDERS
    cache: bytes = b""

    def locate(self, name: str, origin: Path, run_path: Sequence[str]) -> Path | None:
        """Return the file of a library that `origin` needs, None where only the system can know."""
        for folder in (*_expand(run_path, origin), *self.folders):
            if is_file(folder / name):
                return folder / name
        return None

    def in_system(self, name: str) -> bool:
        """Whether the system's own folders hold a library of this name."""
        listed = any(mark + name.encode() + b"\0" in self.cache for mark in (b"\0", b"/"))
        return listed or any(is_file(folder / name) for folder in self.system)


@dataclass(frozen=True, slots=True)
class Closure:
    """All libraries that some libraries need, and what those need in turn.

    `found` names those outside the system's folders, `missing` those that are nowhere, `damaged`
    the ones that could not be read, with the reason. The system's own are in none of them.
    """

    found: dict[str, Path] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    damaged: dict[str, str] = field(default_factory=dict)


def read_loader(torch_lib: Path) -> Loader:
    """Read the search path: torch's folder, NVIDIA's packages beside torch, the environment's lib.

    torch itself looks for the packages this way (`_preload_cuda_deps` in torch/__init__.py). They
    are `nvidia/cublas/lib` and the like for CUDA 12, `nvidia/cu13/lib` for CUDA 13.
    """
    packages = torch_lib.parent.parent
    listed = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    cache = b""
    with suppress(OSError):
        cache = _LOADER_CACHE.read_bytes()
    return Loader(
        folders=(
            torch_lib,
            *sorted(packages.glob("nvidia/*/lib")),
            *(Path(folder) for folder in listed if folder),
            packages.parent.parent,  # an interpreter of conda has this in its own run path
        ),
        cache=cache,
    )


def find_libraries(
    loader: Loader,
    roots: Sequence[Path],
    loaded: Mapping[str, Path] | None = None,
    cache: Cache | None = None,
) -> Closure:
    """Find what `roots` need, breadth first. What is in `loaded` already is not looked at again.

    `cache` keeps what each library asks for, not where that is: folders change.
    """
    result, kept = Closure(), cache or open_cache(None)
    settled = set(loaded or ())
    waiting = list(roots)
    while waiting:
        origin = waiting.pop(0)
        try:
            needed, run_path = kept.remember("links", [origin], partial(_links, origin))
        except (ElfError, OSError) as error:
            result.damaged[origin.name] = _reason(error)
            continue
        for name in needed:
            if name in settled:
                continue
            path = loader.locate(name, origin, run_path)
            if path:
                result.found[name] = path
                waiting.append(path)
            if path or loader.in_system(name):
                settled.add(name)
            else:
                result.missing.add(name)  # until a library with another run path finds it
    result.missing.difference_update(settled)
    return result


def _links(path: Path) -> list[list[str]]:
    """Return the libraries that one needs, and its run path."""
    with open_elf(path) as elf:
        return [list(elf.needed), list(elf.run_path)]


def _expand(run_path: Sequence[str], origin: Path) -> Iterator[Path]:
    for folder in run_path:
        text = folder.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", str(origin.parent))
        if "$" not in text:
            yield Path(text)


def is_file(path: Path) -> bool:
    """Whether there is a regular file at `path`; a path that no system takes has none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _reason(error: Exception) -> str:
    """Return what went wrong, without the path that an OSError carries."""
    return getattr(error, "strerror", None) or str(error)
