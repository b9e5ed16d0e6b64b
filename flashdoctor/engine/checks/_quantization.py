"""From which compute capability on a vLLM release runs a quantization method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from flashdoctor.engine.view import MissingFactError, View
from flashdoctor.model import versions
from flashdoctor.model.versions import Capability

Row: TypeAlias = Mapping[str, Any]

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


SCHEMES: Mapping[str, tuple[str, ...]] = {
    "fp8-w8a8": ("CompressedTensorsW8A8Fp8", "CompressedTensorsW8A16Fp8"),
    "fp8-w8a16": ("CompressedTensorsW8A16Fp8",),
    "int8-w8a8": ("CompressedTensorsW8A8Int8",),
    "int8-w8a16": ("CompressedTensorsWNA16",),
    "int4-w4a16": ("CompressedTensorsWNA16",),
    "int4-w4a8": ("CompressedTensorsW4A8Fp8",),
    "nvfp4-w4a4": ("CompressedTensorsW4A4Fp4",),
    "nvfp4-w4a16": ("CompressedTensorsW4A16Fp4",),
    "mxfp4-w4a4": ("CompressedTensorsW4A4Mxfp4",),
}
"""The classes by which vLLM runs a scheme of compressed-tensors, one after another."""


def methods_of(view: View, method: str) -> tuple[str, ...]:
    """Return the names under which the tables hold the floor of a checkpoint's method."""
    scheme = view.value("model.quantization_scheme", "")
    if method == "compressed-tensors":
        return SCHEMES.get(scheme, (method,))
    if method == "modelopt" and scheme == "nvfp4-w4a4":
        return ("modelopt_fp4",)
    return KERNELS.get(method, (method,))


def lowest_capability(view: View, methods: Iterable[str], version: str) -> Capability | None:
    """Return the lowest capability that any of the methods or schemes asks for in this release.

    None where the tables know none of them in this release.
    """
    wanted = set(methods)
    table = view.tables.compat("quantization")
    rows = [row for row in table["vllm_method"] if row["method"] in wanted]
    rows += [row for row in table["vllm_scheme"] if row["scheme"] in wanted]
    floors = (_floor(row, version) for row in rows if "runs" in row)
    return min((floor for floor in floors if floor is not None), default=None)


def launch_row(view: View, section: str, key: str, value: str, version: str) -> Row | None:
    """Return the row of launch/quantization that holds for a scheme or method in a release."""
    found = versions.order(version)
    rows: list[Row] = view.tables.table("launch/quantization")[section]
    return next((row for row in rows if row[key] == value and _holds(row, found)), None)


def _holds(row: Row, found: Any) -> bool:
    first, last = versions.order(row["first"]), versions.order(row["last"])
    if found is None or first is None or last is None:
        return False
    return bool(first <= found <= last)


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
