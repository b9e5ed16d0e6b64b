"""What a shared library needs, asks for and exports: pyelftools, kept from trusting its input.

pyelftools follows whatever a file says; here its reading ends, and its errors are of one kind.
It is also kept from what nobody asked for: listing the symbols of libtorch_cpu takes it seconds,
so they are looked up through the hash table, and to read that table alone takes 70 ms.
"""

from __future__ import annotations

import errno
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from flashdoctor.errors import InputError

Data: TypeAlias = bytes | mmap.mmap

_MOST_READS = 400_000  # a second or two; the hash table of libtorch_cpu takes 74,000
_LONGEST_NAME = 1 << 14  # the time to hash a name grows with its square


class ElfError(InputError):
    """The bytes are no ELF library of the kind that is read here, or are damaged."""

    reference = "elf"


class Region(NamedTuple):
    """A run of bytes in the file."""

    offset: int
    size: int


@contextmanager
def _guard() -> Iterator[None]:
    try:
        yield
    except ElfError:
        raise
    except Exception as error:  # pyelftools raises whatever comes of what it reads
        raise ElfError("the file is damaged") from error


class Elf:
    """A 64-bit little-endian shared library over its bytes; `parse_elf` makes one.

    Everything raises `ElfError` where the bytes it comes to are damaged. `machine` is `x86_64`,
    `aarch64` or the like, a number where it has no name. `sections` are those with bytes in the
    file, none where their headers were stripped.
    """

    def __init__(self, data: Data) -> None:
        from elftools.elf.elffile import ELFFile  # noqa: PLC0415 - 40 ms, for no cached run

        self.data = data
        self._file = ELFFile(_Stream(data))
        self.machine = str(self._file["e_machine"]).removeprefix("EM_").lower()
        headers = _read_headers(self._file)
        self._numbers = {header.sh_type: number for number, header in enumerate(headers)}
        names: Any = self._file.get_section(self._file.get_shstrndx()) if headers else None
        self.sections = {
            _ascii(names.get_string(header.sh_name)): Region(header.sh_offset, header.sh_size)
            for header in headers
            if header.sh_type != "SHT_NOBITS"
        }
        if any(offset + size > len(data) for offset, size in self.sections.values()):
            raise ElfError("the file is cut short")

    @property
    def needed(self) -> tuple[str, ...]:
        """The DT_NEEDED libraries, in their order."""
        return self._strings("needed")

    @property
    def run_path(self) -> tuple[str, ...]:
        """The folders of DT_RUNPATH, else of DT_RPATH, `$ORIGIN` still in them."""
        texts = self._strings("runpath") or self._strings("rpath")
        return tuple(folder for text in texts for folder in text.split(":") if folder)

    @_guard()
    def versions_needed(self) -> tuple[str, ...]:
        """Return the symbol versions asked of other libraries: `GLIBC_2.34`, `GLIBCXX_3.4.29`."""
        section = self._section("SHT_GNU_verneed")
        if section:
            return tuple(_ascii(v.name) for _, needs in section.iter_versions() for v in needs)
        if any(self._dynamic.iter_tags("DT_VERNEED")):
            raise ElfError("no section headers to find the versions by")
        return ()

    @_guard()
    def undefined(self) -> tuple[str, ...]:
        """Return the names of the strong symbols that other libraries must define."""
        table, params = self._section("SHT_DYNSYM") or self._dynamic, self._hash.params
        # What a GNU hash table lists is defined and stands last; an empty one does not know where.
        listed = "symoffset" in params and any(params.buckets)
        count = params.symoffset if listed else table.num_symbols()
        if count < 2 and not listed:  # noqa: PLR2004 - the first symbol of every table is empty
            raise ElfError(f"a symbol table of {count} symbols")
        symbols = map(table.get_symbol, range(count))
        wanted = (s for s in symbols if s.name and s["st_shndx"] == "SHN_UNDEF")
        return tuple(_ascii(s.name) for s in wanted if s["st_info"]["bind"] != "STB_WEAK")

    @_guard()
    def exports(self, name: str) -> bool:
        """Whether a symbol of this name is defined here, by the table the loader would use."""
        symbol = self._hash.get_symbol(name)
        return symbol is not None and symbol["st_shndx"] != "SHN_UNDEF"

    @_guard()
    def _strings(self, tag: str) -> tuple[str, ...]:
        found = self._dynamic.iter_tags(f"DT_{tag.upper()}")
        return tuple(_ascii(getattr(entry, tag)) for entry in found)

    def _section(self, kind: str) -> Any:
        number = self._numbers.get(kind)
        return None if number is None else self._file.get_section(number)

    @cached_property
    def _dynamic(self) -> Any:
        found = self._section("SHT_DYNAMIC") or next(self._file.iter_segments("PT_DYNAMIC"), None)
        if found is None:
            raise ElfError("no dynamic section")
        return found

    @cached_property
    def _hash(self) -> Any:
        from elftools.elf.hash import ELFHashTable, GNUHashTable  # noqa: PLC0415 - as above

        found, dynamic = self._section("SHT_GNU_HASH") or self._section("SHT_HASH"), self._dynamic
        if found:
            return found
        gnu, plain = (dynamic.get_table_offset(tag)[1] for tag in ("DT_GNU_HASH", "DT_HASH"))
        if gnu:
            return GNUHashTable(self._file, gnu, dynamic)
        if plain is None:
            raise ElfError("no table of symbols")
        return ELFHashTable(self._file, plain, None, dynamic)


class _Stream:
    """Bytes as pyelftools reads them, which ends what a damaged file would have go on for ever."""

    def __init__(self, data: Data) -> None:
        self._data, self._at, self._left = data, 0, _MOST_READS

    def seek(self, offset: int, whence: int = 0) -> None:
        self._at = offset + (len(self._data) if whence else 0)

    def tell(self) -> int:
        return self._at

    def read(self, size: int) -> bytes:
        self._left -= 1
        if self._left < 0:
            raise ElfError("the file is damaged")
        found = self._data[self._at : self._at + size]
        self._at += len(found)
        return found


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


@_guard()
def parse_elf(data: Data) -> Elf:
    """Read the headers of a shared library. Raise `ElfError` where it is none or is cut short."""
    if data[:4] != b"\x7fELF":
        raise ElfError("a Windows file, not an ELF one" if data[:2] == b"MZ" else "not an ELF file")
    if data[4:6] != b"\x02\x01":
        raise ElfError("not a 64-bit little-endian ELF file")
    return Elf(data)


def _read_headers(file: Any) -> list[Any]:
    """Read the table of sections: pyelftools would read what is in each of them as well."""
    from elftools.common.utils import struct_parse  # noqa: PLC0415 - as above

    start, size, count = file["e_shoff"], file["e_shentsize"], file.num_sections()
    if start + count * size > file.stream_len:
        raise ElfError("the file is cut short")
    places = (start + number * size for number in range(count))
    return [struct_parse(file.structs.Elf_Shdr, file.stream, place) for place in places]


def _ascii(name: str) -> str:
    if len(name) > _LONGEST_NAME:
        raise ElfError("a name without an end")
    return name.encode("ascii", "replace").decode()
