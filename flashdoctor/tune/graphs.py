"""CUDA graphs: the batch sizes that are captured, what they take, and who pays for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashdoctor.tune import spans
from flashdoctor.tune.kv_cache import ceil
from flashdoctor.tune.memory_types import MIB

if TYPE_CHECKING:
    from flashdoctor.tune.defaults import Case

_BLACKWELL = 10
_SWITCH = "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"


def capture_sizes(case: Case) -> tuple[int, ...]:
    """Return the batch sizes that the engine captures, rising; none in eager mode."""
    settings = case.settings
    if settings.cudagraph_mode == "NONE":
        return ()
    row = case.row("capture_sizes", engine=case.engine) or {}
    tokens = settings.max_num_batched_tokens or 0
    most = min(settings.max_cudagraph_capture_size or _most(case, row), tokens or 1)
    if settings.cudagraph_capture_sizes is not None:
        return tuple(sorted({size for size in settings.cudagraph_capture_sizes if size <= tokens}))
    return _default_sizes(row, most)


def _most(case: Case, row: spans.Row) -> int:
    blackwell = case.gpu.capability is not None and case.gpu.capability.major == _BLACKWELL
    most = int(row.get("max_on_10_x", row["max"]) if blackwell else row["max"])
    seqs = case.settings.max_num_seqs or 1
    if case.engine == "V0":
        return min(most, ceil(seqs, 8) * 8)
    return min(most, 2 * seqs) if row["max_is_twice_seqs"] else most


def _default_sizes(row: spans.Row, most: int) -> tuple[int, ...]:
    step, until = int(row["step"]), int(row.get("step_until", most + 1))
    sizes = [size for size in row["small"] if size <= most]
    sizes += range(step, min(most + 1, until), step)
    if "then_step" in row:
        sizes += range(until, most + 1, int(row["then_step"]))
    return tuple(sizes)


def graphs_bytes(case: Case) -> int:
    """Return what the captured graphs take: by size, layer and mode."""
    sizes = capture_sizes(case)
    seqs = case.settings.max_num_seqs or 0
    mode = case.settings.cudagraph_mode or ""
    graphs = len(sizes) if "PIECEWISE" in mode else 0
    graphs += sum(size <= max(seqs, sizes[0]) for size in sizes) if "FULL" in mode else 0
    layers = ceil(len(case.model.layers), case.settings.pipeline_parallel_size)
    each = case.constant("graphs-moe" if case.model.moe else "graphs-dense")
    return int(graphs * layers * each * MIB)


def pays_for_graphs(case: Case) -> bool:
    """Whether the graphs are estimated and taken off the budget; else they come on top."""
    row = case.row("budget", engine=case.engine) or {"graphs": "outside"}
    if row["graphs"] == "outside" or case.settings.cudagraph_mode == "NONE":
        return False
    if case.runner == "V2" and not (case.row("runner") or {})["estimates_graphs"]:
        return False
    usual = "1" if row["graphs"] == "inside" else "0"
    return (case.settings.variable(_SWITCH) or usual) == "1"
