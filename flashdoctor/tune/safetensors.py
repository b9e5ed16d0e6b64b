"""Headers of safetensors files and their index: names, dtypes and sizes, never the data.

Format: eight bytes with the header's length, little-endian, then JSON of tensors by name with
`dtype`, `shape` and `data_offsets` relative to the end of the header (safetensors 0.5 README).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import prod
from typing import Any, NamedTuple

from flashdoctor.errors import InputError

PREFIX = 8
MOST_HEADER = 100_000_000
"""What the format itself allows for a header, bytes."""

_MOST_DIMENSION = 1 << 48
_BITS: Mapping[str, int] = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I16": 16, "U16": 16,
    "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64,
    "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip


class Stored(NamedTuple):
    """A tensor in a file: its dtype by the format's name, its shape, its bytes."""

    dtype: str
    shape: tuple[int, ...]
    size: int


class Header(NamedTuple):
    """What a file holds. `data_end`: bytes the file must have. `overlaps`: tensors on one place."""

    tensors: Mapping[str, Stored]
    data_end: int
    overlaps: tuple[str, ...] = ()


def header_length(prefix: bytes, name: str) -> int:
    """Return the length of the header from the first eight bytes of a file."""
    if len(prefix) < PREFIX:
        raise InputError(f"{name} is cut off: it has {len(prefix)} bytes")
    length = int.from_bytes(prefix[:PREFIX], "little")
    if not 0 < length <= MOST_HEADER:
        raise InputError(
            f"{name} is no safetensors file", hint="a Git LFS pointer? run `git lfs pull`"
        )
    return length


def parse_header(data: bytes, name: str) -> Header:
    """Read a header, the eight bytes before it cut off; `InputError` where it is wrong."""
    try:
        body: Any = json.loads(data)
    except (ValueError, RecursionError):
        raise InputError(f"{name}: its header is no JSON") from None
    if not isinstance(body, dict):
        raise InputError(f"{name}: its header is no JSON object")
    places: list[tuple[int, int, str]] = []
    tensors: dict[str, Stored] = {}
    for key, entry in body.items():
        if key != "__metadata__":
            stored, start, end = _read_entry(entry, f"{name}: {key[:80]}")
            tensors[key] = stored
            places.append((start, end, key))
    last = max((end for _, end, _ in places), default=0)
    return Header(tensors, PREFIX + len(data) + last, tuple(_overlaps(places)))


def _read_entry(entry: Any, where: str) -> tuple[Stored, int, int]:
    if not isinstance(entry, dict):
        raise InputError(f"{where}: expected an object")
    dtype: Any = entry.get("dtype")
    shape: Any = entry.get("shape")
    offsets: Any = entry.get("data_offsets")
    if not isinstance(dtype, str) or not _are_sizes(shape) or not _are_sizes(offsets):
        raise InputError(f"{where}: dtype, shape or data_offsets are missing or wrong")
    start, end = offsets if len(offsets) == 2 else (1, 0)  # noqa: PLR2004 - a begin and an end
    if start > end:
        raise InputError(f"{where}: its data_offsets are not a begin and an end")
    bits = _BITS.get(dtype)
    if bits is not None and -(-prod(shape) * bits // 8) != end - start:
        raise InputError(f"{where}: {end - start} bytes do not hold {dtype} of shape {shape}")
    return Stored(dtype, tuple(shape), end - start), start, end


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, int) and not isinstance(item, bool) and 0 <= item <= _MOST_DIMENSION
        for item in value
    )


def _overlaps(places: Iterable[tuple[int, int, str]]) -> Iterable[str]:
    reached, holder = 0, ""
    for start, end, name in sorted(place for place in places if place[0] < place[1]):
        if start < reached:
            yield f"{holder} and {name}"
        if end > reached:
            reached, holder = end, name


class Index(NamedTuple):
    """model.safetensors.index.json: the file of each tensor, and the total that it states."""

    files: Mapping[str, str]
    total_bytes: int | None


def parse_index(text: str, name: str = "model.safetensors.index.json") -> Index:
    """Read an index; `InputError` where it is none. File names may not leave the folder."""
    try:
        body: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{name} is no JSON") from None
    files = body.get("weight_map") if isinstance(body, dict) else None
    if not isinstance(files, dict) or not all(_is_name(file) for file in files.values()):
        raise InputError(f"{name}: weight_map is missing or names no files")
    metadata = body.get("metadata")
    total: Any = metadata.get("total_size") if isinstance(metadata, dict) else None
    is_size = isinstance(total, (int, float)) and not isinstance(total, bool) and total >= 0
    return Index(files, int(total) if is_size and total < 1 << 60 else None)


def _is_name(file: Any) -> bool:
    if not isinstance(file, str) or file in ("", ".", ".."):
        return False
    return not {"/", "\\", "\0"} & set(file)
