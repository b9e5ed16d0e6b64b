"""Smaller and quantised variants of a model, by name: rows of launch/variants. Pure."""

from __future__ import annotations

from flashdoctor.data.tables import Tables
from flashdoctor.model.llm import Model
from flashdoctor.tune.spans import Row

_BYTES = 2  # of a key or value: bfloat16


def find(tables: Tables, model: Model) -> Row | None:
    """Return the row of a model, known by its shape: folders have any name."""
    shape = (model.architecture, model.hidden, len(model.layers), model.vocab)
    keys = ("architecture", "hidden", "layers", "vocab")
    rows: list[Row] = tables.table("launch/variants")["model"]
    return next((row for row in rows if tuple(row[key] for key in keys) == shape), None)


def checkpoint(tables: Tables, model: Model, method: str) -> str:
    """Return `, NAME` of a checkpoint that is quantised so (`fp8`, `awq`); empty where none is."""
    row = find(tables, model)
    name = row.get(method) if row else None
    return f", such as {name}" if name else ""


def smaller(tables: Tables, model: Model) -> list[Row]:
    """Return the smaller models of the same family, the largest first."""
    own = find(tables, model)
    if own is None:
        return []
    rows: list[Row] = tables.table("launch/variants")["model"]
    found = [
        row
        for row in rows
        if row["family"] == own["family"] and row["weights_gib"] < own["weights_gib"]
    ]
    return sorted(found, key=lambda row: -row["weights_gib"])


def token_bytes(row: Row) -> int:
    """Return the bytes of one token in the KV cache of all layers."""
    return int(2 * row["layers"] * row["kv_heads"] * row["head_dim"] * _BYTES)
