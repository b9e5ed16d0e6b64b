"""The attention backend of vLLM before 0.11.1: the first selection whose conditions are met."""

from __future__ import annotations

from collections.abc import Iterator

from flashdoctor.tune import spans
from flashdoctor.tune.flash_version import FA3, flash_version
from flashdoctor.tune.need import AMPERE, Need, is_outside
from flashdoctor.tune.spans import Row

MLA_FROM = "0.7.1"
"""Before it, MLA models run with full heads, as any other."""


def select(table: Row, version: str, need: Need) -> tuple[Row | None, list[tuple[str, str]]]:
    """Return the selection that is taken, and what spoke against those before it."""
    objections: list[tuple[str, str]] = []
    for row in _selections(table, version, engine_of(table, version, need), need):
        name = str(row["backend"])
        against = _asked_otherwise(need, name) or next(_unmet(row, need), "")
        if not against:
            return row, objections
        objections.append((name, against))
    return None, objections


def engine_of(table: Row, version: str, need: Need) -> str:
    """Return `V0` or `V1`: the release's default, or V0 where V1 refuses what is asked."""
    row = spans.row_at(table["engine"], version)
    if row is None or (row["state"] == "default" and _v1_refuses(table, version, need)):
        return "V0"
    return str(row["engine"])


def _v1_refuses(table: Row, version: str, need: Need) -> bool:
    refused = {str(row["id"]) for row in spans.rows_at(table["v1_refusal"], version)}
    fp8_runs = flash_version(table, version, need) == FA3
    return (
        ("capability" in refused and need.capability < AMPERE)
        or ("dtype" in refused and need.dtype == "float32")
        or ("fp8-kv-cache" in refused and need.fp8_kv and not fp8_runs)
    )


def _selections(table: Row, version: str, engine: str, need: Need) -> list[Row]:
    """Return the rows of the release, or of the nearest one that was read."""
    kind = "mla" if need.mla else "dense"
    rows = [r for r in table["selection"] if (r["engine"], r["attention"]) == (engine, kind)]
    held = spans.rows_at(rows, version)
    nearest = spans.row_at(rows, version)
    return held or (spans.rows_at(rows, str(nearest["last"])) if nearest else [])


def _asked_otherwise(need: Need, name: str) -> str:
    asked = need.backend
    return "" if asked in {None, name, name.removesuffix("_VLLM_V1")} else f"{asked} was asked for"


def _unmet(row: Row, need: Need) -> Iterator[str]:
    """Yield each condition of a selection that is not met."""
    if is_outside(row, need.capability):
        yield f"not for {need.capability.sm}"
    if need.dtype not in row.get("dtypes", [need.dtype]):
        yield f"{need.dtype} not supported"
    if need.head_size not in row.get("head_sizes", [need.head_size]):
        yield f"head size {need.head_size} not supported"
    if not _takes_block(row, need.block_size):
        yield f"block size {need.block_size} not supported"
    if need.fp8_kv is not row.get("fp8_kv", need.fp8_kv):
        yield "no fp8 KV cache" if need.fp8_kv else "for an fp8 KV cache only"
    if need.sliding_window and not row.get("sliding_window", True):
        yield "no sliding window"
    if row.get("sinks") is True and not need.sinks:
        yield "for attention sinks only"


def _takes_block(row: Row, size: int | None) -> bool:
    """Whether a block size suits; where none is asked for the engine takes what does."""
    if size is None:
        return True
    return size in row.get("block_sizes", [size]) and size % row.get("block_multiple", 1) == 0


def runs_fp8(table: Row, version: str, need: Need, backend: str) -> bool:
    """Whether a backend of these releases runs with an fp8 KV cache (V0's XFORMERS decodes it)."""
    rows = spans.rows_at(table["fp8_kv"], version)
    flash = flash_version(table, version, need)
    if not rows or engine_of(table, version, need) == "V0":
        return backend != "FLEX_ATTENTION"
    return any(
        row["backend"] in {"any", backend}
        and not is_outside(row, need.capability)
        and ("needs" not in row or flash == FA3)
        for row in rows
    )
