"""Product names of GPUs: from any way of writing one to the row that is meant.

NVML says `NVIDIA A100-SXM4-80GB`, people say `A100`. A name that several rows fit gives what the
rows agree on, and nothing at all where they differ in compute capability: nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

Row: TypeAlias = Mapping[str, Any]

_VENDOR = frozenset({"nvidia", "geforce", "tesla"})
_FORM = frozenset(
    {"pcie", "sxm", "sxm2", "sxm3", "sxm4", "sxm5", "sxm6", "nvl", "hgx", "dgx", "ac"}
    | {"hbm2", "hbm2e", "hbm3", "hbm3e", "3e"}
)
_FAMILY = frozenset(
    {"quadro", "rtx", "gtx", "pro", "ada", "blackwell", "generation", "edition", "gpu"}
    | {"workstation", "server", "max", "q", "sff"}
)
_OPTIONAL = _VENDOR | _FORM | _FAMILY
_SIZE = re.compile(r"(\d{1,5})g(?:i?b)?")
_SPLIT_SIZE = re.compile(r"(\d)\s+(gi?b)\b")
_SUFFIX = re.compile(r"(?<=\d{4})(?=(?:ti|super)\b)")
_SLICE = re.compile(r"\s+mig\b.*", re.DOTALL)
_WORD = re.compile(r"[a-z0-9]+")
_OF_THE_WHOLE = (
    "memory_gib", "memory_bandwidth_gb_s", "sm_count",
    "tensor_tflops_bf16_dense", "tensor_tflops_fp16_dense",
)  # fmt: skip
_SAME_SIZE = 0.12
"""How far a size in a name may be from the table's: 80 GB is sold where 79.6 GiB are there."""


class Name(NamedTuple):
    """A product name taken apart: its words, and the same without the vendor's and in one."""

    words: frozenset[str]
    packed: str


class Catalog(NamedTuple):
    """Every row under each of its names."""

    names: tuple[tuple[Name, Row], ...]
    exact: Mapping[str, Row]


def make_catalog(rows: Iterable[Row]) -> Catalog:
    """Index the rows of compat/gpus by name and aliases."""
    names = [
        (take_apart(text), row) for row in rows for text in (row["name"], *row.get("aliases", ()))
    ]
    return Catalog(tuple(names), {name.packed: row for name, row in names})


def take_apart(text: str) -> Name:
    """Return the words of a name, whatever their case and whatever stands between them."""
    joined = _SPLIT_SIZE.sub(r"\1\2", text.casefold())
    words = _WORD.findall(_SUFFIX.sub(" ", joined))
    return Name(frozenset(words), "".join(word for word in words if word not in _VENDOR))


def find_gpu(catalog: Catalog, text: str) -> Row | None:
    """Return the row that `text` means, what its rows have in common, or None."""
    rows = rows_meant(catalog, text)
    return _agreed(rows) if rows else None


def rows_meant(catalog: Catalog, text: str) -> list[Row]:
    """Return every row that `text` may mean.

    The name of a MIG slice, and one with a memory size that its row does not have, give rows
    without the figures of the whole GPU.
    """
    low = text.casefold()
    whole = _SLICE.sub("", low)
    rows = _rows_whole(catalog, take_apart(whole))
    return rows if whole == low else [_without(row, _OF_THE_WHOLE) for row in rows]


def _rows_whole(catalog: Catalog, name: Name) -> list[Row]:
    if name.packed in catalog.exact:
        return [catalog.exact[name.packed]]
    sizes = {int(match[1]) for match in map(_SIZE.fullmatch, name.words) if match}
    bare = frozenset(word for word in name.words if not _SIZE.fullmatch(word))
    for words in (name.words, name.words - _VENDOR, bare - _VENDOR, bare - _VENDOR - _FORM):
        found = _rows_named(catalog, words)
        if found:
            return _sized(found, sizes)
    return []


def _rows_named(catalog: Catalog, words: frozenset[str]) -> list[Row]:
    """Return the rows whose names hold all `words` and beyond them only words without weight."""
    if not words - _OPTIONAL:
        return []
    found: list[Row] = []
    for name, row in catalog.names:
        if words <= name.words and row not in found:
            rest = name.words - words - _OPTIONAL
            if all(map(_SIZE.fullmatch, rest)):
                found.append(row)
    return found


def _sized(rows: list[Row], sizes: set[int]) -> list[Row]:
    fitting = [row for row in rows if all(_holds(row, size) for size in sizes)]
    return fitting or [_without(row, _OF_THE_WHOLE) for row in rows]


def _holds(row: Row, size: int) -> bool:
    return bool(abs(row["memory_gib"] - size) <= _SAME_SIZE * size)


def _agreed(rows: Sequence[Row]) -> Row | None:
    first, *others = rows
    if any(row["compute_capability"] != first["compute_capability"] for row in others):
        return None
    return {k: v for k, v in first.items() if all(k in row and row[k] == v for row in others)}


def _without(row: Row, keys: Iterable[str]) -> Row:
    return {key: value for key, value in row.items() if key not in keys}
