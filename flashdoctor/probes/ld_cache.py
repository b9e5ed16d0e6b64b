"""The dynamic loader's cache, read without starting ldconfig.

Source of the layouts: glibc, sysdeps/generic/dl-cache.h. The file is either the format of glibc
2.2 and later, or the old one of libc5, or the old one with the new one behind it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

NAME = "/etc/ld.so.cache"

_OLD_MAGIC = b"ld.so-1.7.0"
_OLD_COUNT = 12
_OLD_HEAD = 16  # magic, one byte of padding, number of entries
_OLD_ENTRY = struct.Struct("<iII")
_NEW_MAGIC = b"glibc-ld.so.cache1.1"
_NEW_HEAD = 48  # magic, number of entries, length of the strings, byte order, reserve
_BYTE_ORDER = 28
_BIG_ENDIAN = b"\x03"


class Entry(NamedTuple):
    """One library of the cache. `flags` tell the kind of machine it is for."""

    flags: int
    path: str


def parse_ld_cache(data: bytes, soname: str) -> list[Entry]:
    """Return the cache's entries for one library, in the loader's order of preference.

    What is damaged, or no cache at all, holds no entries.
    """
    wanted = soname.encode("utf-8", "surrogateescape") + b"\0"
    return [
        Entry(flags, _string(data, value))
        for flags, key, value in _entries(data)
        if data.startswith(wanted, key)
    ]


def _entries(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield flags and the places of name and path of every entry."""
    start = _find_new(data)
    if start is not None:
        big = data[start + _BYTE_ORDER : start + _BYTE_ORDER + 1] == _BIG_ENDIAN
        layout = struct.Struct(f"{'>' if big else '<'}iIIIQ")
        yield from _rows(data, layout, start + len(_NEW_MAGIC), start + _NEW_HEAD, start)
    elif data.startswith(_OLD_MAGIC):
        yield from _rows(data, _OLD_ENTRY, _OLD_COUNT, _OLD_HEAD, None)


def _find_new(data: bytes) -> int | None:
    """Return where the new format's head starts: at the front, or aligned behind the old table."""
    if data.startswith(_NEW_MAGIC):
        return 0
    if not data.startswith(_OLD_MAGIC) or len(data) < _OLD_HEAD:
        return None
    end = _OLD_HEAD + _OLD_ENTRY.size * struct.unpack_from("<I", data, _OLD_COUNT)[0]
    aligned = (-(-end // boundary) * boundary for boundary in (8, 4))
    return next((place for place in aligned if data.startswith(_NEW_MAGIC, place)), None)


def _rows(
    data: bytes, layout: struct.Struct, count_at: int, table: int, strings: int | None
) -> Iterator[tuple[int, int, int]]:
    """Yield the rows of a table; `strings` is what its offsets count from, None for its end."""
    if len(data) < table:
        return
    claimed = struct.unpack_from(f"{layout.format[0]}I", data, count_at)[0]
    end = table + layout.size * min(claimed, (len(data) - table) // layout.size)
    base = end if strings is None else strings
    for flags, key, value, *_ in layout.iter_unpack(data[table:end]):
        yield flags, base + key, base + value


def _string(data: bytes, start: int) -> str:
    end = data.find(b"\0", start)
    return data[start : end if end >= 0 else len(data)].decode("utf-8", "surrogateescape")
