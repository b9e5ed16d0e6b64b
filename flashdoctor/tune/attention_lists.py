"""The attention backend of vLLM from 0.11.1 on: the first of a list that has no objection."""

from __future__ import annotations

from collections.abc import Iterator

from flashdoctor.tune import spans
from flashdoctor.tune.flash_version import flash_version
from flashdoctor.tune.need import Need, is_about, is_outside
from flashdoctor.tune.spans import Row

UNREAD = "what it can take was not read"

_TWINS = {"TRITON_FLASHINFER": "FLASHINFER", "TRITON_FLASH_ATTN": "FLASH_ATTN"}
"""Backends of two parts are judged by the part that decides."""

_BLACKWELL = 10
_FEW_HEADS = 16


def first_fit(table: Row, version: str, need: Need) -> tuple[Row | None, list[tuple[str, str]]]:
    """Return the row of the backend that is taken, and what spoke against those before it."""
    rejected: list[tuple[str, str]] = []
    for name in [need.backend] if need.backend else priority(table, version, need):
        limit = limit_of(table, name, version)
        against = ", ".join(objections(table, limit, version, need)) if limit else UNREAD
        if limit and not against:
            return {**limit, "backend": name}, rejected
        rejected.append((name, against))
    return None, rejected


def priority(table: Row, version: str, need: Need) -> list[str]:
    """Return the backends in the order in which this release tries them."""
    if need.multimodal_prefix and not need.mla:
        rows = _rows(table, "dense, multimodal prefix", need)
        held = spans.rows_at(rows, version)
        if held:
            return list(map(str, held[0]["backends"]))
    rows = _rows(table, "mla" if need.mla else "dense", need)
    if rows and spans.order(version) < min(map(spans.first_of, rows)):
        rows = _others(table, "mla" if need.mla else "dense")
    row = spans.row_at(rows, version)
    names = list(map(str, row["backends"])) if row else []
    return list(dict.fromkeys([*names, *_sparse(table, version, need)]))


def _rows(table: Row, kind: str, need: Need) -> list[Row]:
    rows = [row for row in table["priority"] if row["attention"] == kind]
    return [row for row in rows if is_about(row, rows, need.capability)]


def _others(table: Row, kind: str) -> list[Row]:
    rows = table["priority"]
    return [row for row in rows if (row["attention"], row["capability"]) == (kind, "other")]


def _sparse(table: Row, version: str, need: Need) -> list[str]:
    """Return the sparse backends that end the list on 10.x: their order follows cache and heads."""
    if not need.sparse or need.capability.major != _BLACKWELL:
        return []
    cache = "fp8" if need.fp8_kv else "bfloat16"
    heads = "any" if need.fp8_kv else "up to 16" if need.heads <= _FEW_HEADS else "more"
    rows = [r for r in table["sparse_priority"] if (r["kv_cache"], r["heads"]) == (cache, heads)]
    row = spans.row_at(rows, version)
    return list(map(str, row["backends"])) if row else []


def limit_of(table: Row, name: str, version: str) -> Row | None:
    """Return what a backend can take in a release, None where nobody read that."""
    read = _TWINS.get(name, name)
    return spans.row_at([row for row in table["limit"] if row["backend"] == read], version)


def objections(table: Row, limit: Row, version: str, need: Need) -> Iterator[str]:
    """Yield what a backend has against the need, in vLLM's words."""
    wide = list(_widened(table, limit, version, need))
    kv_dtypes = [*limit["kv_dtypes"], *(name for row in wide for name in row.get("kv_dtypes", ()))]
    if is_outside(limit, need.capability):
        yield "compute capability not supported"
    if need.dtype not in limit.get("dtypes", [need.dtype]):
        yield "dtype not supported"
    if not _takes_head(limit, wide, need.head_size):
        yield "head_size not supported"
    if need.kv_dtype not in kv_dtypes:
        yield "kv_cache_dtype not supported"
    if need.block_size is not None and not _takes_block(limit, need.block_size):
        yield "block_size not supported"
    if need.sinks and not (limit.get("sinks", True) or any(row.get("sinks") for row in wide)):
        yield "attention sinks not supported"
    if need.sparse is not ("SPARSE" in str(limit["backend"])):
        yield "sparse not supported" if need.sparse else "non-sparse not supported"


def _widened(table: Row, limit: Row, version: str, need: Need) -> Iterator[Row]:
    flash = flash_version(table, version, need)
    for row in limit.get("widened", ()):
        same_flash = row.get("flash_version", flash) == flash
        same_head = row.get("head_size", need.head_size) == need.head_size
        if same_flash and same_head and not is_outside(row, need.capability):
            yield row


def _takes_head(limit: Row, wide: list[Row], size: int) -> bool:
    most = max([limit.get("max_head", size), *(row.get("max_head", 0) for row in wide)])
    return (
        size in limit.get("head_sizes", [size])
        and size % limit.get("head_multiple", 1) == 0
        and limit.get("min_head", size) <= size <= most
    )


def _takes_block(limit: Row, size: int) -> bool:
    return size in limit.get("block_sizes", [size]) and size % limit.get("block_multiple", 1) == 0
