"""How much of a GPU each part of vLLM takes, accounted as the engine of one release does it.

`plan` is the interface for all others. What it adds up is in weights, activation, graphs and
kv_cache; the engine's defaults are in defaults, its words in refusals, constants and their sources
in matrices/launch/memory.toml.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from flashdoctor.tune import changes, refusals, spans
from flashdoctor.tune.activation import peak_bytes
from flashdoctor.tune.defaults import Case, fill
from flashdoctor.tune.graphs import graphs_bytes, pays_for_graphs
from flashdoctor.tune.kv_cache import Pool, block_size, pool_of
from flashdoctor.tune.memory_types import MIB, Change, Gpu, MemoryPlan, Settings
from flashdoctor.tune.weights import rank_bytes

if TYPE_CHECKING:
    from flashdoctor.data.tables import Tables
    from flashdoctor.model.llm import Model

__all__ = ["Change", "Gpu", "MemoryPlan", "Settings", "cuda_total", "plan"]


class _Account(NamedTuple):
    """Where the budget of one GPU goes."""

    weights: int
    activation: int
    non_torch: int
    graphs: int
    graphs_inside: bool
    budget: int
    kv: int


def plan(model: Model, gpu: Gpu, settings: Settings, version: str, *, tables: Tables) -> MemoryPlan:
    """Return where the memory goes for this model under these settings.

    `UsageError` where `version` is no version, or a type of KV cache has no size in the tables.
    """
    case = fill(model, gpu, settings, version, tables)
    result = _planned(case)
    if result.fits:
        return result

    def again(other: Settings) -> MemoryPlan:
        return _planned(fill(model, gpu, other, version, tables))

    return changes.advise(result, case, settings, again)


def cuda_total(nvml_mib: int, *, tables: Tables, reserved_mib: int | None = None) -> int:
    """Return what CUDA calls the total, in bytes: NVML's less what the driver keeps.

    `reserved_mib` is what NVML shows as used on an idle GPU, where it is known.
    """
    rows = tables.table("launch/memory")["constant"]
    usual = next(row["value"] for row in rows if row["id"] == "driver-reserve")
    return (nvml_mib - int(usual if reserved_mib is None else reserved_mib)) * MIB


def _planned(case: Case) -> MemoryPlan:
    account, pool = _account(case), pool_of(case)
    length = case.settings.max_model_len or 0
    blocks = _blocks(case, account.kv, pool)
    usable = _usable(case, account.kv, blocks, pool)
    needed = pool.needed(length) if pool else 0
    limit = refusals.longest_allowed(case)
    longest = pool.longest(usable, limit) if pool else limit
    early = refusals.before_loading(case)
    refusal = early or _refused(case, account, usable, needed, pool)
    return MemoryPlan(
        fits=refusal is None,
        refusal=refusal,
        engine=case.engine,
        runner=case.runner,
        settings=case.settings,
        total_bytes=case.gpu.total_bytes,
        budget_bytes=account.budget,
        weights_bytes=account.weights,
        activation_bytes=account.activation,
        non_torch_bytes=account.non_torch,
        graphs_bytes=account.graphs,
        graphs_inside=account.graphs_inside,
        kv_bytes=account.kv,
        kv_bytes_per_token=pool.token_bytes if pool else 0,
        kv_tokens=pool.tokens(blocks, length) if pool else 0,
        block_size=pool.groups[0].spec.block if pool else block_size(case),
        num_blocks=blocks,
        needed_bytes=needed,
        max_model_len=length,
        longest_model_len=longest,
        concurrency=pool.requests(blocks, length)
        if pool
        else float(case.settings.max_num_seqs or 0),
        loads=early is None,
        notes=_notes(case),
    )


def _account(case: Case) -> _Account:
    settings = case.settings
    activation, graphs = peak_bytes(case), graphs_bytes(case)
    loaded = rank_bytes(case.model, settings.tensor_parallel_size, settings.pipeline_parallel_size)
    weights = max(0, loaded - settings.cpu_offload_bytes)
    inside = pays_for_graphs(case)
    others = settings.tensor_parallel_size * settings.pipeline_parallel_size > 1
    parallel = case.constant("parallel-non-torch") if others else 0
    non_torch = int((case.constant("non-torch") + parallel) * MIB)
    budget = refusals.budget_bytes(case)
    left = budget - weights - activation - non_torch - (graphs if inside else 0)
    row = case.row("budget", engine=case.engine) or {"counts_others": False}
    if row["counts_others"]:
        own = int(case.constant("cuda-context") * MIB) if case.engine == "V1" else 0
        left -= case.gpu.used_bytes + own
    kv = left if settings.kv_cache_memory_bytes is None else settings.kv_cache_memory_bytes
    return _Account(weights, activation, non_torch, graphs, inside, budget, kv)


def _blocks(case: Case, kv: int, pool: Pool | None) -> int:
    if pool is None:
        return 0
    if case.settings.num_gpu_blocks_override is not None:
        return case.settings.num_gpu_blocks_override
    return max(0, kv // pool.block_bytes)


def _usable(case: Case, kv: int, blocks: int, pool: Pool | None) -> int:
    """Return what the engine's check compares: later releases keep the null block out of it."""
    if pool is None:
        return kv
    if case.settings.num_gpu_blocks_override is not None:
        kv = blocks * pool.block_bytes
    row = case.row("constant", id="null-blocks") or {"value": 0}
    since = spans.first_of(row) <= spans.order(case.version)
    kept = int(row["value"]) if since and case.engine == "V1" else 0
    return kv - kept * pool.block_bytes


def _refused(
    case: Case, account: _Account, usable: int, needed: int, pool: Pool | None
) -> str | None:
    """Return what stops the start once the weights are read."""
    if account.weights > case.gpu.total_bytes - case.gpu.used_bytes:
        return refusals.words(case, "weights-too-large")
    if pool is None:
        return None
    if usable <= 0:
        return refusals.words(case, "no-memory")
    return refusals.too_long(case, usable, needed, pool) if needed > usable else None


def _notes(case: Case) -> tuple[str, ...]:
    """Return what the figures leave out or take for granted."""
    told = {
        "the vision encoder's peak is not counted": case.model.vision,
        "weights are worked out from the architecture, not read": not case.model.weights.exact,
        "more than one GPU: what NCCL takes was not measured": (
            case.settings.tensor_parallel_size * case.settings.pipeline_parallel_size > 1
        ),
        "graphs of this engine were not measured": bool(case.model.moe and case.runner == "V1"),
        "constants of this release come from published logs": (
            spans.order(case.version) < spans.order("0.17.1")
        ),
    }
    return tuple(text for text, holds in told.items() if holds)
