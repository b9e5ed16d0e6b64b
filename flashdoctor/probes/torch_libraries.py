"""torch's own libraries on disk: which of them there are, and the C++ ABI that they export."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from flashdoctor.model.facts import Fact, known, unknown
from flashdoctor.model.regex import regex
from flashdoctor.probes.cache import Cache, open_cache
from flashdoctor.probes.elf import ElfError, open_elf
from flashdoctor.probes.loader import Closure, Loader, find_libraries, is_file, read_loader

# What `import torch` loads itself; everything else is needed by one of these.
_ROOTS = ("libtorch_global_deps.so", "libtorch_python.so", "libtorch.so")
_CORE = ("libc10.so", "libtorch_cpu.so")
_OWN = regex(r"lib(?:torch|c10|shm|caffe2)")
_DRIVER = frozenset({"libcuda.so.1", "libnvidia-ml.so.1"})  # another probe's business
_NVIDIA = regex(r"lib(?:cu|nv|nccl)")

# The constructor of the exception behind TORCH_CHECK takes a std::string in every release.
_ERROR = "_ZN3c105ErrorC1ENS_14SourceLocationE"
_NEW_ERROR = _ERROR + "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
_OLD_ERROR = _ERROR + "Ss"


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchLibraries:
    """The libraries that importing torch from `folder` (torch/lib) loads.

    `cxx11_abi` is what the symbols of libc10 tell of its ABI, None where they do not.
    """

    folder: Path
    loader: Loader
    closure: Closure
    cxx11_abi: bool | None

    @property
    def own(self) -> tuple[Path, ...]:
        """Those that are torch's own, the ones that export its symbols."""
        found = self.closure.found.items()
        return tuple(path for name, path in found if _OWN.match(name))

    @property
    def problem(self) -> str:
        """Why nobody can say what this torch exports; empty where one can."""
        lost = [name for name in _CORE if name not in self.closure.found]
        if lost:
            return f"{' and '.join(lost)} not found in torch/lib"
        return _first(f"{name}: {why}" for name, why in self._damaged())

    def _damaged(self) -> Iterable[tuple[str, str]]:
        return (item for item in self.closure.damaged.items() if _OWN.match(item[0]))


def read_torch(folder: Path, cache: Cache | None = None) -> TorchLibraries:
    """Follow torch's libraries from those that `import torch` loads."""
    kept = cache or open_cache(None)
    loader = read_loader(folder)
    roots = {name: folder / name for name in _ROOTS if is_file(folder / name)}
    closure = find_libraries(loader, list(roots.values()), cache=kept)
    closure.found.update(roots)
    abi = _read_abi(closure.found.get("libc10.so"), kept)
    return TorchLibraries(folder=folder, loader=loader, closure=closure, cxx11_abi=abi)


def torch_facts(torch: TorchLibraries) -> list[Fact]:
    """Return torch.library_missing, and torch.cxx11_abi where its symbols tell."""
    facts = [_missing_fact(torch)]
    if torch.cxx11_abi is not None:
        facts.append(known("torch.cxx11_abi", torch.cxx11_abi, "symbols of libc10.so"))
    return facts


def _read_abi(path: Path | None, cache: Cache) -> bool | None:
    if path is None:
        return None
    try:
        new, old = cache.remember("errors", [path], lambda: _errors(path))
    except (ElfError, OSError):
        return None
    return None if new == old else new


def _errors(path: Path) -> list[bool]:
    with open_elf(path) as elf:
        return [elf.exports(_NEW_ERROR), elf.exports(_OLD_ERROR)]


def _missing_fact(torch: TorchLibraries) -> Fact:
    fact, source = "torch.library_missing", "DT_NEEDED of torch/lib"
    if torch.problem:
        return unknown(fact, torch.problem, source)
    missing = sorted(torch.closure.missing - _DRIVER)
    doubt = _doubt(torch, missing)
    return unknown(fact, doubt, source) if doubt else known(fact, missing, source)


def _doubt(torch: TorchLibraries, missing: list[str]) -> str:
    """Return why a library that was not found may yet be somewhere; empty where it is missing."""
    nvidia = [name for name in missing if _NVIDIA.match(name)]
    if nvidia and not (torch.folder.parent.parent / "nvidia").is_dir():
        return f"{nvidia[0]} not found, and no nvidia packages beside torch to look into"
    system = [name for name in missing if not _NVIDIA.match(name) and not _OWN.match(name)]
    if system and not torch.loader.cache:
        return f"{system[0]} not found, and no /etc/ld.so.cache to look it up in"
    return ""


def _first(texts: Iterable[str]) -> str:
    return next(iter(texts), "")
