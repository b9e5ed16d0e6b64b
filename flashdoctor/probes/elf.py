"""Just enough ELF: what a shared library needs, asks for and exports, read from its bytes.

Written on struct, because listing the symbols of libtorch_cuda takes seconds with a general
reader and importing one takes longer than everything here: a symbol costs one hash lookup.
Source of the layouts: System V gABI, and for DT_GNU_HASH the glibc loader (`elf/dl-lookup.c`).
"""

from __future__ import annotations

import errno
import mmap
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from flashdoctor.errors import InputError

Data: TypeAlias = bytes | mmap.mmap

MAGIC = b"\x7fELF"
MACHINES = {3: "i386", 21: "ppc64", 22: "s390", 40: "arm", 62: "x86_64", 183: "aarch64",
            243: "riscv"}  # fmt: skip

_TABLE_OFFSETS = struct.Struct("<QQ")
_TABLE_COUNTS = struct.Struct("<HHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_DYNAMIC = struct.Struct("<qQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_NEED = struct.Struct("<HHIII")
_NEED_VERSION = struct.Struct("<IHHII")
_GNU_HASH = struct.Struct("<IIII")
_HASH = struct.Struct("<II")
_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")

_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NEEDED, _DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_RPATH, _DT_RUNPATH = 1, 4, 5, 6, 15, 29
_DT_GNU_HASH, _DT_VERNEED = 0x6FFFFEF5, 0x6FFFFFFE
_SHT_NOBITS = 8
_STB_WEAK = 2

# No library in the field comes near these; a damaged one must not keep us for minutes.
_MOST_SYMBOLS = 1 << 20
_MOST_UNDEFINED = 1 << 16
_MOST_STEPS = 1 << 12
_MOST_NEEDS = 1 << 8
_LONGEST_NAME = 1 << 14


class ElfError(InputError):
    """The bytes are no ELF library of the kind that is read here, or are damaged."""

    reference = "elf"


class Region(NamedTuple):
    """A run of bytes in the file."""

    offset: int
    size: int


class _Load(NamedTuple):
    address: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Elf:
    """A 64-bit little-endian shared library over its bytes.

    Methods raise `ElfError` where the bytes they come to are damaged. `machine` is `x86_64`,
    `aarch64` or the like, `machine-N` for one without a name here.
    """

    data: Data
    machine: str
    loads: tuple[_Load, ...]
    dynamic: Mapping[int, tuple[int, ...]]
    sections: Mapping[str, Region]

    @property
    def needed(self) -> tuple[str, ...]:
        """The DT_NEEDED libraries, in their order."""
        return tuple(self._strings(_DT_NEEDED))

    @property
    def run_path(self) -> tuple[str, ...]:
        """The folders of DT_RUNPATH, else of DT_RPATH, `$ORIGIN` still in them."""
        texts = [*self._strings(_DT_RUNPATH)] or [*self._strings(_DT_RPATH)]
        return tuple(folder for text in texts for folder in text.split(":") if folder)

    def versions_needed(self) -> Iterator[str]:
        """Yield the symbol versions asked of other libraries: `GLIBC_2.34`, `GLIBCXX_3.4.29`."""
        at = self._offset_of(_DT_VERNEED)
        for _ in range(0 if at is None else _MOST_NEEDS):
            _, count, _, first, after = _unpack(_NEED, self.data, at or 0)
            yield from self._versions(at + first, count)
            if not after:
                return
            at += after
        

    def undefined(self) -> Iterator[str]:
        """Yield the names of the strong symbols that other libraries must define."""
        names = self._table(_DT_STRTAB)
        symbols = _rows(_SYMBOL, self.data, self._table(_DT_SYMTAB), self._symbol_count())
        wanted = [s[0] for s in symbols if s[0] and not s[3] and s[1] >> 4 != _STB_WEAK]
        if len(wanted) > _MOST_UNDEFINED:
            raise ElfError(f"{len(wanted)} undefined symbols")
        yield from (_text(self.data, names + name) for name in wanted)

    def exports(self, name: str) -> bool:
        """Whether a symbol of this name is defined here, by the table the loader would use."""
        if _DT_GNU_HASH in self.dynamic:
            return self._in_gnu_hash(name.encode())
        return self._in_hash(name.encode())

    def _versions(self, at: int, count: int) -> Iterator[str]:
        names = self._table(_DT_STRTAB)
        for _ in range(count):
            _, _, _, name, after = _unpack(_NEED_VERSION, self.data, at)
            yield _text(self.data, names + name)
            at += after

    def _strings(self, tag: int) -> Iterator[str]:
        if tag in self.dynamic:
            names = self._table(_DT_STRTAB)
            yield from (_text(self.data, names + offset) for offset in self.dynamic[tag])

    def _offset_of(self, tag: int) -> int | None:
        """Return where in the file the table of `tag` starts, None without such a tag."""
        values = self.dynamic.get(tag)
        if values is None:
            return None
        for load in self.loads:
            if load.address <= values[0] < load.address + load.size:
                return load.offset + values[0] - load.address
        raise ElfError(f"the table of dynamic tag {tag:#x} is not in the file")

    def _table(self, tag: int) -> int:
        offset = self._offset_of(tag)
        if offset is None:
            raise ElfError(f"no dynamic tag {tag:#x}")
        return offset

    def _symbol_count(self) -> int:
        """Return how many symbols there are, or at least how many can be undefined.

        A GNU hash table only knows where the defined ones start, and they stand last; with none
        defined it does not even know that.
        """
        if ".dynsym" in self.sections:
            count = self.sections[".dynsym"].size // _SYMBOL.size
        elif _DT_HASH in self.dynamic:
            _, count = _unpack(_HASH, self.data, self._table(_DT_HASH))
        else:
            _, count, _, _ = _unpack(_GNU_HASH, self.data, self._table(_DT_GNU_HASH))
        if not 1 < count <= _MOST_SYMBOLS:
            raise ElfError(f"a symbol table of {count} symbols")
        return int(count)

    def _in_gnu_hash(self, name: bytes) -> bool:
        at = self._table(_DT_GNU_HASH)
        count, first, words, shift = _unpack(_GNU_HASH, self.data, at)
        if not count or not words:
            raise ElfError("an empty GNU hash table")
        hashed, bloom = gnu_hash(name), at + _GNU_HASH.size
        (word,) = _unpack(_U64, self.data, bloom + hashed // 64 % words * 8)
        if not word >> hashed % 64 & word >> (hashed >> shift) % 64 & 1:
            return False
        buckets = bloom + words * 8
        (index,) = _unpack(_U32, self.data, buckets + hashed % count * 4)
        return index >= first and self._in_chain(
            name, hashed, index, buckets + count * 4 + (index - first) * 4
        )

    def _in_chain(self, name: bytes, hashed: int, index: int, at: int) -> bool:
        for step in range(_MOST_STEPS):
            (entry,) = _unpack(_U32, self.data, at + step * 4)
            if entry | 1 == hashed | 1 and self._is(index + step, name):
                return True
            if entry & 1:
                return False
        raise ElfError("a hash chain without an end")

    def _in_hash(self, name: bytes) -> bool:
        at = self._table(_DT_HASH)
        count, _ = _unpack(_HASH, self.data, at)
        if not count:
            raise ElfError("an empty hash table")
        (index,) = _unpack(_U32, self.data, at + 8 + sysv_hash(name) % count * 4)
        for _ in range(_MOST_STEPS):
            if not index:
                return False
            if self._is(index, name):
                return True
            (index,) = _unpack(_U32, self.data, at + 8 + (count + index) * 4)
        raise ElfError("a hash chain without an end")

    def _is(self, index: int, name: bytes) -> bool:
        """Whether symbol `index` has this name and is defined."""
        at = self._table(_DT_SYMTAB) + index * _SYMBOL.size
        offset, _, _, section, _, _ = _unpack(_SYMBOL, self.data, at)
        start = self._table(_DT_STRTAB) + offset
        return bool(section) and self.data[start : start + len(name) + 1] == name + b"\0"


@contextmanager
def open_elf(path: Path) -> Iterator[Elf]:
    """Map a library for reading. Raise `ElfError` where it is none, `OSError` as open does."""
    with map_file(path) as data:
        yield parse_elf(data)


@contextmanager
def map_file(path: Path) -> Iterator[Data]:
    """Map a regular file for reading. Raise `OSError` where that cannot be done."""
    if not path.is_file():  # opening a pipe would wait for a writer
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    with path.open("rb") as file:
        try:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # an empty file
            yield b""
            return
    with data:
        yield data


def parse_elf(data: Data) -> Elf:
    """Read the headers of a shared library. Raise `ElfError` where it is none or is cut short."""
    if data[:4] != MAGIC:
        raise ElfError("a Windows file, not an ELF one" if data[:2] == b"MZ" else "not an ELF file")
    if data[4:6] != b"\x02\x01":
        raise ElfError("not a 64-bit little-endian ELF file")
    (machine,) = _unpack(_U16, data, 18)
    segments, sections = _unpack(_TABLE_OFFSETS, data, 32)
    _, segment_count, _, section_count, names = _unpack(_TABLE_COUNTS, data, 54)
    headers = _rows(_SEGMENT, data, segments, segment_count)
    if any(offset + size > len(data) for _, _, offset, _, _, size, _, _ in headers):
        raise ElfError("the file is cut short")
    return Elf(
        data=data,
        machine=MACHINES.get(machine, f"machine-{machine}"),
        loads=tuple(_Load(h[3], h[2], h[5]) for h in headers if h[0] == _PT_LOAD),
        dynamic=_dynamic(data, headers),
        sections=_sections(data, sections, section_count, names),
    )


@lru_cache(maxsize=4096)
def gnu_hash(name: bytes) -> int:
    """Return the hash of a symbol's name in DT_GNU_HASH: 32 bits."""
    value = 5381
    for byte in name:
        value = value * 33 + byte & 0xFFFFFFFF
    return value


@lru_cache(maxsize=4096)
def sysv_hash(name: bytes) -> int:
    """Return the hash of a symbol's name in DT_HASH: 28 bits."""
    value = 0
    for byte in name:
        value = (value << 4) + byte & 0xFFFFFFFF
        value ^= value >> 24 & 0xF0
    return value & 0x0FFFFFFF


def _dynamic(data: Data, segments: list[tuple[Any, ...]]) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    offset, size = next(((s[2], s[5]) for s in segments if s[0] == _PT_DYNAMIC), (0, 0))
    if size > _MOST_STEPS * _DYNAMIC.size:
        raise ElfError(f"a dynamic section of {size} bytes")
    for tag, value in _rows(_DYNAMIC, data, offset, size // _DYNAMIC.size):
        if not tag:
            break
        found[tag] = (*found.get(tag, ()), value)
    return found


def _sections(data: Data, offset: int, count: int, names: int) -> dict[str, Region]:
    """Return the sections with bytes in the file by name; none where the table was stripped."""
    headers = _rows(_SECTION, data, offset, count) if offset else []
    if headers and names >= len(headers):
        raise ElfError("no table of section names")
    found = {}
    for name, kind, _, _, start, size, *_ in headers:
        if kind == _SHT_NOBITS:
            continue
        if start + size > len(data):
            raise ElfError("the file is cut short")
        found[_text(data, headers[names][4] + name)] = Region(start, size)
    return found


def _rows(layout: struct.Struct, data: Data, offset: int, count: int) -> list[tuple[Any, ...]]:
    end = offset + count * layout.size
    if end > len(data):
        raise ElfError("the file is cut short")
    return list(layout.iter_unpack(data[offset:end]))


def _unpack(layout: struct.Struct, data: Data, offset: int) -> tuple[Any, ...]:
    if offset + layout.size > len(data):
        raise ElfError("a table reaches beyond the file")
    return layout.unpack_from(data, offset)


def _text(data: Data, offset: int) -> str:
    """Return the NUL-terminated text at `offset`; what is not ASCII becomes `?`."""
    end = data.find(b"\0", offset, offset + _LONGEST_NAME)
    if end < 0:
        raise ElfError("a name without an end")
    return data[offset:end].decode("ascii", "replace").replace("\ufffd", "?")
