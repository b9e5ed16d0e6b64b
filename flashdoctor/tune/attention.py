"""Which attention backend vLLM takes, and which FlashAttention, as the engine of a release does.

From 0.11.1 on: the first backend of a priority list that has no objection. Before: the first
selection whose conditions are met. Both stand in matrices/launch/attention.toml.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flashdoctor.data.tables import Tables
from flashdoctor.model.tuning import Attention
from flashdoctor.model.versions import Capability
from flashdoctor.tune import attention_early, attention_lists, spans
from flashdoctor.tune.attention_early import MLA_FROM
from flashdoctor.tune.flash_version import BACKENDS, flash_version, why_flash
from flashdoctor.tune.need import Need
from flashdoctor.tune.spans import Row

LISTS_FROM = "0.11.1"
READ_FROM = "0.6.0"
TRITON_FP8_FROM = Capability(8, 9)
"""Triton has no conversion to e4m3 before it: vllm-project/vllm issues 17581, 26431, 47949."""

_TABLE = "matrices/launch/attention.toml"


def choose(tables: Tables, version: str, need: Need) -> Attention:
    """Return what this release of vLLM would run attention with, or what it says if nothing can."""
    table = tables.table("launch/attention")
    need = _without_mla(need) if spans.order(version) < spans.order(MLA_FROM) else need
    if spans.order(version) < spans.order(READ_FROM):
        return Attention(
            None, None, f"not known: releases before {READ_FROM} were not read", _TABLE
        )
    if spans.order(version) < spans.order(LISTS_FROM):
        row, objections = attention_early.select(table, version, need)
    else:
        row, objections = attention_lists.first_fit(table, version, need)
    if row is not None:
        return _taken(table, version, need, row, objections)
    if need.backend and objections[-1:] == [(need.backend, attention_lists.UNREAD)]:
        flash = _flash_of(table, version, need, need.backend)
        return Attention(need.backend, flash, "asked for; what it can take was not read", _TABLE)
    why = _refusal(need, objections)
    return Attention(None, None, why, _TABLE, tuple(objections), refused=True)


def _without_mla(need: Need) -> Need:
    return replace(need, mla=False, head_size=need.full_head_size or need.head_size)


def takes_fp8_kv(tables: Tables, version: str, need: Need) -> bool:
    """Whether attention runs with an fp8 KV cache here, on the backend that would then be taken."""
    fp8 = replace(need, kv_dtype="fp8")
    found = choose(tables, version, fp8)
    if found.backend is None:
        return False
    if found.backend.startswith("TRITON") and need.capability < TRITON_FP8_FROM:
        return False
    if spans.order(version) >= spans.order(LISTS_FROM):
        return True
    return attention_early.runs_fp8(tables.table("launch/attention"), version, fp8, found.backend)


def _taken(
    table: Row, version: str, need: Need, row: Row, objections: Sequence[tuple[str, str]]
) -> Attention:
    name = str(row["backend"])
    flash = _flash_of(table, version, need, name)
    objections = [item for item in objections if item[0] != name]  # a row of its own for a case
    parts = ["asked for" if need.backend else _why_first(need, objections)]
    if flash is not None:
        parts.append(why_flash(table, version, need, flash))
    if row.get("engine") == "V0" and spans.order(version) >= spans.order("0.8.0"):
        parts.append("V1 refuses this, so V0 runs")
    return Attention(name, flash, "; ".join(parts), str(row["source"]), tuple(objections))


def _why_first(need: Need, objections: Sequence[tuple[str, str]]) -> str:
    if not objections:
        return f"vLLM's first choice on {need.capability.sm}"
    listed = ", ".join(f"{name} ({why})" for name, why in objections)
    return f"the first on {need.capability.sm} without an objection, after {listed}"


def _flash_of(table: Row, version: str, need: Need, backend: str) -> int | None:
    return flash_version(table, version, need) if backend in BACKENDS else None


def _refusal(need: Need, objections: Sequence[tuple[str, str]]) -> str:
    """Return what vLLM says: one text for a backend that was asked for, one where none is left."""
    if need.backend:
        reasons = [why for name, why in objections if name == need.backend] or ["it is not known"]
        return f"Selected backend {need.backend} is not valid for this configuration: {reasons[0]}"
    listed = "; ".join(f"{name}: {why}" for name, why in objections)
    return f"No valid attention backend found for cuda. {listed}"
