"""From which compute capability on a vLLM release runs a quantization method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flashdoctor.engine.view import MissingFactError, View
from flashdoctor.model import versions
from flashdoctor.model.versions import Capability

KERNELS: Mapping[str, tuple[str, ...]] = {
    "awq": ("awq", "awq_marlin", "auto_awq"),
    "gptq": ("gptq", "gptq_marlin", "auto_gptq"),
}
"""The methods by which vLLM runs a checkpoint of a method; it takes the best that the GPU has."""

MARLIN: Mapping[str, tuple[str, ...]] = {
    "awq": ("awq_marlin",),
    "gptq": ("gptq_marlin",),
}


def stated(view: View, path: str) -> Any:
    """Return a value; skips the rule where there is none, because there is nothing to judge."""
    value = view.need(path)
    if value is None:
        raise MissingFactError(path)
    return value


def lowest_capability(view: View, methods: Iterable[str], version: str) -> Capability | None:
    """Return the lowest capability that any of the methods asks for in this release.

    None where the tables know none of them in this release.
    """
    wanted = set(methods)
    rows = view.tables.compat("quantization")["vllm_method"]
    floors = (_floor(row, version) for row in rows if row["method"] in wanted)
    return min((floor for floor in floors if floor is not None), default=None)


def _floor(row: Mapping[str, Any], version: str) -> Capability | None:
    """Return the floor of the last run that began by then; None once the method is gone."""
    found = versions.order(version)
    runs = [run for run in row["runs"] if _reached(run["first"], found)]
    if not runs or found is None:
        return None
    last = versions.order(row["runs"][-1]["last"])
    if last is not None and found > last:
        return None
    return versions.capability(runs[-1]["min_capability"])


def _reached(first: str, found: Any) -> bool:
    order = versions.order(first)
    return order is not None and found is not None and bool(order <= found)
