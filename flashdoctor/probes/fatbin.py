"""GPU targets in the fat binaries that nvcc embeds: parse their headers, never their payload.

A fat binary is a header (magic, version, header size, size of what follows) and entries one
behind the other, each with its kind, target and size, so that the next one is found without
reading this one. NVIDIA documents none of it: layout and flags were established with the output
of nvcc 13.0 and of CUDA 12 wheels against what cuobjdump says of them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from flashdoctor.errors import InputError
from flashdoctor.probes.elf import Data, Region

PROGRAMS = ".nv_fatbin"
OBJECTS = "__nv_relfatbin"  # of -rdc=true: what the driver compiles and links where no program fits

_MAGIC = b"\x50\xed\x55\xba"
_VERSION = 1
_HEADER = struct.Struct("<4sHHQ")  # magic, version, header size, size of the entries
_ENTRY = struct.Struct("<HHIQIIHHIIIQ")  # kind, -, header size, size, ..., target, ..., flags
_PTX, _CUBIN = 1, 2
_LOWEST_TARGET, _HIGHEST_TARGET = 10, 999
_ARCHITECTURE_SPECIFIC, _FAMILY_SPECIFIC = 0x100000, 0x200000

# A large library holds a few thousand of a dozen entries each; a damaged one must not keep us.
_MOST_BINARIES = 1 << 16
_MOST_ENTRIES = 1 << 8


_NOTHING = Region(0, 0)


class FatbinError(InputError):
    """A fat binary that is damaged, or of a layout that is not known here."""

    reference = "fatbin"


class _Entry(NamedTuple):
    kind: int
    target: int
    suffix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What a library was compiled for, ascending: `sass` as `sm_90a`, `ptx` as `compute_90`."""

    sass: tuple[str, ...]
    ptx: tuple[str, ...]


def parse_targets(data: Data, sections: Mapping[str, Region]) -> Targets:
    """Read the targets of the fat binaries in a library's sections.

    Of objects only the PTX counts: their machine code is linked into the programs already, and
    NVIDIA's own objects among them have it for every GPU. Without such sections it is a search.
    Raise `FatbinError` where a fat binary is damaged: a partial list would be taken for all.
    """
    if PROGRAMS not in sections and OBJECTS not in sections:
        return search_targets(data)
    programs, objects = (
        set(_walk(data, sections.get(name, _NOTHING))) for name in (PROGRAMS, OBJECTS)
    )
    return _targets(programs | {entry for entry in objects if entry.kind == _PTX})


def search_targets(data: Data) -> Targets:
    """Read the targets of the fat binaries anywhere in a file whose sections are not known.

    The magic number also stands in code that looks for it: what does not parse is no fat binary.
    """
    return _targets(set(_walk(data, Region(0, len(data)), lenient=True)))


def _walk(data: Data, region: Region, *, lenient: bool = False) -> Iterator[_Entry]:
    end = region.offset + region.size
    at = data.find(_MAGIC, region.offset, end)
    for _ in range(_MOST_BINARIES):
        if at < 0:
            return
        try:
            entries, behind = _container(data, at, end)
        except FatbinError:
            if not lenient:
                raise
            entries, behind = set(), at + len(_MAGIC)
        yield from entries
        at = data.find(_MAGIC, behind, end)
    raise FatbinError(f"more than {_MOST_BINARIES} fat binaries")


def _container(data: Data, at: int, end: int) -> tuple[set[_Entry], int]:
    """Return the entries of the fat binary at `at`, and the offset behind it."""
    if at + _HEADER.size > end:
        raise FatbinError("a fat binary is cut short")
    _, version, header, size = _HEADER.unpack_from(data, at)
    if version != _VERSION or header < _HEADER.size:
        raise FatbinError(f"a fat binary of unknown layout, version {version}")
    behind = at + header + size
    if behind > end:
        raise FatbinError("a fat binary is cut short")
    return set(_entries(data, at + header, behind)), behind


def _entries(data: Data, at: int, end: int) -> Iterator[_Entry]:
    for _ in range(_MOST_ENTRIES):
        if at == end:
            return
        if at + _ENTRY.size > end:
            break
        kind, _, header, size, _, _, _, _, target, _, _, flags = _ENTRY.unpack_from(data, at)
        at += header + size
        if header < _ENTRY.size or at > end:
            break
        if not _LOWEST_TARGET <= target <= _HIGHEST_TARGET:
            break
        if kind in {_PTX, _CUBIN}:
            yield _Entry(kind, target, _suffix(flags))
    raise FatbinError("an entry of a fat binary is damaged")


def _suffix(flags: int) -> str:
    if flags & _ARCHITECTURE_SPECIFIC:
        return "a"
    return "f" if flags & _FAMILY_SPECIFIC else ""


def _targets(found: set[_Entry]) -> Targets:
    ordered = sorted(found)
    return Targets(
        sass=tuple(f"sm_{e.target}{e.suffix}" for e in ordered if e.kind == _CUBIN),
        ptx=tuple(f"compute_{e.target}{e.suffix}" for e in ordered if e.kind == _PTX),
    )
