"""CUDA extensions of flash-attn, vLLM and xformers against the torch beside them.

Files are only read, never loaded: what an import would trip over is in their headers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from flashdoctor.errors import InputError
from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import Fact, absent, known, known_or_absent, unknown
from flashdoctor.model.mangled import belongs_to_torch, cxx11_abi
from flashdoctor.model.regex import regex
from flashdoctor.probes.cache import Cache, open_cache
from flashdoctor.probes.elf import open_elf
from flashdoctor.probes.fatbin import parse_targets
from flashdoctor.probes.loader import find_libraries, is_file
from flashdoctor.probes.torch_libraries import TorchLibraries, read_torch, torch_facts

_ELF = "ELF headers"
_FATBIN = "fat binary headers"
_FILES = "files of the target"
_SYMBOLS = "undefined symbols"
_LOOKUP = "undefined symbols against torch/lib"

_HEADER_FACTS = {
    "extension_machine": "machine",
    "extension_glibc": "glibc",
    "extension_glibcxx": "glibcxx",
    "extension_needed": "needed",
}
_OTHER_FACTS = ("extension", "extension_python", "sass", "ptx", "missing_symbols", "abi_by_symbols")
_PREFIXES = tuple(path.removesuffix(".extension") for path in FACTS if path.endswith(".extension"))
_PYTHON_TAG = regex(r"\.(?:cpython-(?P<number>\d+[a-z]*)-|(?P<tag>cp\d+t?)-|(?P<abi3>abi3)\.)")
# Libraries that define nothing of torch's, and torch's, which are sought in torch/lib alone.
_SETTLED = regex(r"lib(?:cu|nv|nccl|python|stdc\+\+|gcc|gomp|c\.|m\.|dl\.|rt\.|pthread|torch|c10)")


def audit(files: Mapping[str, Any], cache_dir: Path | None) -> list[Fact]:
    """Return the facts of every extension in `files`, and of torch's libraries themselves.

    `files` is what the agent found: `torch_lib`, the folder torch/lib, and `extensions`, files by
    fact prefix (`flash_attn`, `vllm.fa2`). An extension that is not among them is absent. Without
    `cache_dir` nothing is kept between runs. Never raises over what is in the files.
    """
    cache = open_cache(cache_dir)
    folder = _path(files.get("torch_lib"))
    torch = read_torch(folder, cache) if folder else None
    facts = torch_facts(torch) if torch else []
    extensions = files.get("extensions")
    if isinstance(extensions, Mapping):
        for prefix in _PREFIXES:
            facts += _extension_facts(prefix, _path(extensions.get(prefix)), torch, cache)
    cache.save()
    return facts


def _extension_facts(
    prefix: str, path: Path | None, torch: TorchLibraries | None, cache: Cache
) -> list[Fact]:
    if path is None or not is_file(path):
        names = (*_HEADER_FACTS, *_OTHER_FACTS)
        paths = [f"{prefix}.{name}" for name in names if f"{prefix}.{name}" in FACTS]
        return [absent(fact, _FILES) for fact in paths]
    headers = _attempt(lambda: cache.remember("headers", [path], lambda: _headers(path)))
    targets = _attempt(lambda: cache.remember("targets", [path], lambda: _targets(path)))
    return [
        known(f"{prefix}.extension", str(path), _FILES),
        known_or_absent(f"{prefix}.extension_python", parse_python_tag(path.name), "file name"),
        *_header_facts(prefix, headers),
        *_target_facts(prefix, targets),
        _missing_fact(f"{prefix}.missing_symbols", path, headers, torch, cache),
    ]


def parse_python_tag(name: str) -> str | None:
    """Return `cp310` or `abi3` of an extension's file name, None for a name without a tag."""
    match = _PYTHON_TAG.search(name)
    if match is None:
        return None
    return f"cp{match['number']}" if match["number"] else match["tag"] or match["abi3"]


def highest_version(names: Iterable[str], family: str) -> str | None:
    """Return the highest number behind `GLIBC_` or the like, `2.34`; None where nothing asks."""
    pattern = re.compile(re.escape(family) + r"_(\d{1,4}(?:\.\d{1,4})*)")
    numbers = [match[1] for match in map(pattern.fullmatch, names) if match]
    return max(numbers, key=lambda number: [*map(int, number.split("."))], default=None)


def _attempt(read: Callable[[], dict[str, Any]]) -> dict[str, Any] | str:
    """Return what `read` gives, or why it gives nothing."""
    try:
        return read()
    except InputError as error:
        return error.message
    except OSError as error:
        return error.strerror or "cannot be read"


def _headers(path: Path) -> dict[str, Any]:
    with open_elf(path) as elf:
        versions = sorted(set(elf.versions_needed()))
        return {
            "machine": elf.machine,
            "needed": list(elf.needed),
            "glibc": highest_version(versions, "GLIBC"),
            "glibcxx": highest_version(versions, "GLIBCXX"),
            "wants": sorted({name for name in elf.undefined() if belongs_to_torch(name)}),
        }


def _targets(path: Path) -> dict[str, Any]:
    with open_elf(path) as elf:
        found = parse_targets(elf.data, elf.sections)
    return {"sass": list(found.sass), "ptx": list(found.ptx)}


def _header_facts(prefix: str, headers: dict[str, Any] | str) -> Iterator[Fact]:
    abi = f"{prefix}.abi_by_symbols"
    if isinstance(headers, str):
        for name in _HEADER_FACTS:
            yield unknown(f"{prefix}.{name}", headers, _ELF)
        if abi in FACTS:
            yield unknown(abi, headers, _SYMBOLS)
        return
    for name, key in _HEADER_FACTS.items():
        yield known_or_absent(f"{prefix}.{name}", headers[key], _ELF)
    if abi in FACTS:
        yield _abi_fact(abi, headers["wants"])


def _abi_fact(fact: str, wants: list[str]) -> Fact:
    try:
        abi = cxx11_abi(wants)
    except ValueError as error:
        return unknown(fact, str(error), _SYMBOLS)
    if abi is None:
        return unknown(fact, "none of its symbols takes a std::string", _SYMBOLS)
    return known(fact, abi, _SYMBOLS)


def _target_facts(prefix: str, targets: dict[str, Any] | str) -> Iterator[Fact]:
    for kind in ("sass", "ptx"):
        if isinstance(targets, str):
            yield unknown(f"{prefix}.{kind}", targets, _FATBIN)
        else:
            yield known(f"{prefix}.{kind}", targets[kind], _FATBIN)


def _missing_fact(
    fact: str,
    path: Path,
    headers: dict[str, Any] | str,
    torch: TorchLibraries | None,
    cache: Cache,
) -> Fact:
    problem = torch.problem if torch else "torch's libraries were not found"
    if isinstance(headers, str) or torch is None or problem:
        return unknown(fact, headers if isinstance(headers, str) else problem, _LOOKUP)
    beside = find_libraries(torch.loader, [path], torch.closure.found, cache)
    libraries = [*torch.own, *beside.found.values()]
    answer = _attempt(
        lambda: cache.remember(
            "missing", [path, *libraries], lambda: _lookup(headers["wants"], libraries)
        )
    )
    if isinstance(answer, str):
        return unknown(fact, answer, _LOOKUP)
    unread = [name for name in (*beside.missing, *beside.damaged) if not _SETTLED.match(name)]
    if answer["missing"] and unread:
        return unknown(fact, f"{min(unread)}, which it needs too, was not found", _LOOKUP)
    return known(fact, answer["missing"], _LOOKUP)


def _lookup(names: Iterable[str], libraries: Iterable[Path]) -> dict[str, Any]:
    """Return which of these symbols none of the libraries defines."""
    with ExitStack() as stack:
        opened = [stack.enter_context(open_elf(path)) for path in libraries]
        return {"missing": [n for n in names if not any(elf.exports(n) for elf in opened)]}


def _path(value: Any) -> Path | None:
    return Path(value) if isinstance(value, str) and value and "\0" not in value else None
