"""Choose the launch flags of vLLM for a model, GPUs, a release and a goal. Pure.

Every candidate is judged by the memory account, so that what is chosen is known to start. What
changes outputs is proposed, and chosen only where it was allowed or pinned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from flashdoctor.data.tables import Tables
from flashdoctor.model.llm import KEEPS_KV, Model
from flashdoctor.model.tuning import Attention
from flashdoctor.tune import attention, memory, partitions, spans
from flashdoctor.tune.flags import FlagTable
from flashdoctor.tune.memory import Gpu, MemoryPlan, Settings
from flashdoctor.tune.need import AMPERE, Need, need_of
from flashdoctor.tune.pins import Pin, settings_of
from flashdoctor.tune.reasons import Reasons

Goal: TypeAlias = Literal["throughput", "latency", "long-context"]
GOALS: tuple[Goal, ...] = ("throughput", "latency", "long-context")

ALLOWED = ("fp8-kv",)
"""What `--allow` takes: choices that change outputs."""

SHORTEST = 16384
"""A context below it, and below the model's own, is proposed and not chosen by itself."""

MARGIN = 0.05
"""What the memory account may be wrong by: so much of the KV cache is left out of max-model-len."""

_STEP = 256
_ROUNDS = 4
_GIB = 1 << 30
_SPARE = _GIB // 8
_FREE = 0.6 * _GIB  # CUDA's own context, which counts as used before vLLM looks


class Workload(NamedTuple):
    """What is served: this many requests, each so many tokens in and out."""

    requests: int = 1024
    prompt: int = 1024
    output: int = 256

    @property
    def tokens(self) -> int:
        """The tokens that one request holds in the KV cache at its end."""
        return self.prompt + self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked: the model on so many equal GPUs, what is fixed, and what for.

    `gpu.capability` is known. `bundled`: the FlashAttention versions of the installed vLLM.
    """

    model: Model
    gpu: Gpu
    version: str
    flags: FlagTable
    gpus: int = 1
    goal: Goal = "throughput"
    workload: Workload = field(default_factory=Workload)
    max_model_len: int | None = None
    pins: dict[str, Pin] = field(default_factory=dict)
    allow: frozenset[str] = frozenset()
    wsl: int = 0
    bundled: frozenset[int] | None = None

    @property
    def asked_len(self) -> int | None:
        """The context that the user insists on."""
        pinned = settings_of(self.pins).get("max_model_len")
        return self.max_model_len or pinned

    @property
    def most_len(self) -> int | None:
        """The longest context worth having: what was asked for, else the model's own limit."""
        return self.asked_len or self.model.max_positions


class Decision(NamedTuple):
    """The settings that were chosen, what they cost, and what the engine would do by itself.

    `shortened`: the context is less than the model's own. `data_parallel`: copies of the engine.
    `for_graphs`: the share of the GPU is lower than by default, as graphs come on top of it.
    """

    settings: Settings
    memory: MemoryPlan
    default: MemoryPlan
    attention: Attention
    fits: bool
    shortened: bool = False
    data_parallel: int = 1
    for_graphs: bool = False
    fp8_runs: bool = False


class Planner:
    """Judges settings for one request."""

    def __init__(self, request: Request, tables: Tables) -> None:
        self.request = request
        self.tables = tables
        self.reasons = Reasons(tables)
        self.pinned = settings_of(request.pins)

    def decide(self) -> Decision:
        """Return the best settings that start, else those that come nearest."""
        best: Decision | None = None
        for parallel in self.parallel_sizes():
            found = self._decide(self.base(parallel))
            if best is None or _is_better(found, best):
                best = found
            if found.fits and not found.shortened:
                break
        if best is None:
            best = self._decide(self.base(1))
        return best._replace(data_parallel=self._copies(best))

    def parallel_sizes(self) -> list[int]:
        """Return the tensor-parallel sizes to try, in the order in which the goal prefers them."""
        pinned = self.pinned.get("tensor_parallel_size")
        if pinned:
            return [pinned]
        per_stage = self.request.gpus // int(self.pinned.get("pipeline_parallel_size", 1))
        sizes = [n for n in _powers(per_stage) if self.request.model.heads % n == 0]
        return sizes if self.request.goal == "throughput" else sizes[::-1]

    def base(self, parallel: int, entry: str = "serve") -> Settings:
        """Return what is fixed whatever else is chosen: pins, dtype, KV cache dtype, share."""
        fixed = {**self.pinned, "entry": entry}
        fixed.setdefault("tensor_parallel_size", parallel)
        if self.needs_half() and "dtype" not in fixed:
            fixed["dtype"] = "half"
        settings = Settings(**{**fixed, "max_model_len": self.request.most_len})
        free_to_choose = "fp8-kv" in self.request.allow and "kv_cache_dtype" not in fixed
        if free_to_choose and self.runs_fp8(settings):
            settings = replace(settings, kv_cache_dtype="fp8")
        share = self._share_that_is_free(settings)
        if share is not None:
            settings = replace(settings, gpu_memory_utilization=share)
        if self._is_v0(settings) and self._has("enable-chunked-prefill"):
            settings = self._with_chunks(settings)
        return settings

    def runs_fp8(self, settings: Settings) -> bool:
        """Whether attention runs with an fp8 KV cache under these settings."""
        need = self.need(settings)
        has_cache = self._attention(settings).backend is not None
        return has_cache and attention.takes_fp8_kv(self.tables, self.request.version, need)

    def needs_half(self) -> bool:
        """Whether the GPU lacks the model's bfloat16."""
        old = self.request.gpu.capability is not None and self.request.gpu.capability < AMPERE
        return old and self.request.model.dtype == "bfloat16"

    def need(self, settings: Settings) -> Need:
        """Return what these settings ask of attention."""
        capability = self.request.gpu.capability
        if capability is None:
            raise ValueError("the planner is asked about a GPU of known compute capability")
        return need_of(
            self.request.model,
            capability,
            dtype=_full_dtype(settings.dtype, self.request.model.dtype),
            kv_dtype=settings.kv_cache_dtype,
            tensor_parallel=settings.tensor_parallel_size,
            block_size=self.pinned.get("block_size"),
            backend=settings.attention_backend,
            bundled=self.request.bundled,
        )

    def account(self, settings: Settings) -> MemoryPlan:
        """Return where the memory goes with these settings."""
        model, gpu, version = self.request.model, self.request.gpu, self.request.version
        return memory.plan(model, gpu, settings, version, tables=self.tables)

    def _decide(self, base: Settings) -> Decision:
        choice = self._attention(base)
        settings, for_graphs = self._with_room_for_graphs(self._with_batch(base))
        plan = self.account(settings)
        shortened = False
        if not plan.fits and self.request.asked_len is None:
            shorter = self._shortened(settings, plan)
            if shorter is not None:
                settings, plan, shortened = *shorter, True
        return Decision(
            settings,
            plan,
            self.account(base),
            choice,
            fits=plan.fits and not choice.refused,
            shortened=shortened,
            for_graphs=for_graphs,
            fp8_runs=self.runs_fp8(base),
        )

    def _attention(self, settings: Settings) -> Attention:
        if not any(layer.kind in KEEPS_KV for layer in self.request.model.layers):
            return Attention(None, None, "the model has no attention layers", "config.json")
        return attention.choose(self.tables, self.request.version, self.need(settings))

    def _shortened(
        self, settings: Settings, plan: MemoryPlan
    ) -> tuple[Settings, MemoryPlan] | None:
        """Return the settings with the longest context that surely fits, None where it is short."""
        length = self.safe_length(plan)
        if not length:
            return None
        shorter = replace(settings, max_model_len=length)
        found = self.account(shorter)
        return (shorter, found) if found.fits else None

    def safe_length(self, plan: MemoryPlan) -> int:
        """Return the longest context that surely fits, 0 where it is too short to be chosen."""
        length = self.longest_safe(plan)
        return length if length >= SHORTEST else 0

    def longest_safe(self, plan: MemoryPlan) -> int:
        """Return the longest context that fits even where the account is a little off."""
        return max(int(plan.longest_model_len * (1 - MARGIN)) // _STEP * _STEP, 0)

    def share_of_cache(self, settings: Settings, tokens: int) -> int:
        """Return the percentage of the KV cache that steps of so many tokens would take."""
        now = self.account(settings).kv_bytes
        then = self.account(replace(settings, max_num_batched_tokens=tokens)).kv_bytes
        return round(100 * (now - then) / max(now, 1))

    def _with_batch(self, base: Settings) -> Settings:
        """Return the settings with the goal's batch: tokens of a step, and requests in it.

        Each takes memory from the cache that bounds the other, so both are gone through again.
        """
        batch = self.reasons.batch(self.request.goal)
        most = self.most_seqs(int(batch["most_seqs"]), base)
        found = base if base.max_num_seqs else replace(base, max_num_seqs=most)
        for _ in range(_ROUNDS):
            before = found
            if base.max_num_batched_tokens is None:
                found = self._with_tokens(found, batch["tokens"], float(batch["kv_share"]))
            if base.max_num_seqs is None:
                found = replace(found, max_num_seqs=self._seqs_that_fit(found, most))
            if found == before:
                break
        return found

    def most_seqs(self, most: int, settings: Settings) -> int:
        """Return the goal's bound, within the largest graph and the tokens of a pinned step."""
        rows = self.tables.table("launch/memory")["capture_sizes"]
        engine = self.account(settings).engine
        row = spans.row_at([r for r in rows if r["engine"] == engine], self.request.version)
        bounds = (self.pinned.get("max_num_batched_tokens"), row["max"] if row else None)
        return min([most, *(int(bound) for bound in bounds if bound)])

    def _with_tokens(self, settings: Settings, tokens: list[int], share: float) -> Settings:
        """Take the largest step whose activations cost the KV cache no more than a share of it."""
        asked = settings.max_num_seqs or 1
        sizes = [n for n in tokens if n >= asked] or [asked]
        least = self.account(replace(settings, max_num_batched_tokens=sizes[-1])).kv_bytes
        for size in sizes[:-1]:
            found = replace(settings, max_num_batched_tokens=size)
            if self.account(found).kv_bytes >= least * (1 - share) > 0:
                return found
        return replace(settings, max_num_batched_tokens=sizes[-1])

    def _seqs_that_fit(self, settings: Settings, most: int) -> int:
        """Return how many requests of the workload the KV cache holds, as a size of CUDA graphs."""
        if self.account(settings).kv_bytes <= 0:
            return most
        return max(min(most, _graph_size(self.requests_held(settings))), 1)

    def request_tokens(self, settings: Settings) -> int:
        """Return the length of a request of the workload, within the context."""
        most = self.account(settings).max_model_len
        return min(self.request.workload.tokens, most) if most else self.request.workload.tokens

    def requests_held(self, settings: Settings) -> int:
        """Return how many requests of the workload the cache holds, windows and states counted."""
        short = replace(settings, max_model_len=self.request_tokens(settings))
        return int(self.account(short).concurrency)

    def _copies(self, decision: Decision) -> int:
        """Return how many engines fit side by side on the GPUs that are left over."""
        settings = decision.settings
        each = settings.tensor_parallel_size * settings.pipeline_parallel_size
        if self.request.goal != "throughput" or not self._has("data-parallel-size"):
            return 1
        most = max(self.request.gpus // each, 1) if decision.fits else 1
        if self.request.model.moe is None:
            return most
        return next(n for n in range(most, 0, -1) if n == 1 or self._divides(settings, n))

    def _divides(self, settings: Settings, copies: int) -> bool:
        """Whether experts can be divided among all copies, as vLLM does where they are several."""
        ranks = settings.tensor_parallel_size * copies
        experts = self.request.model.moe and self.request.model.moe.intermediate
        whole = settings.enable_expert_parallel
        parts = partitions.splits(self.request.model, ranks, experts_too=not whole)
        about = [part for part in parts if part.refusal == partitions.EXPERTS]
        even = whole or not experts or experts % ranks == 0
        return even and not any(part.size % part.unit for part in about)

    def _share_that_is_free(self, settings: Settings) -> float | None:
        """Return a smaller gpu-memory-utilization where others hold too much for the default."""
        gpu = self.request.gpu
        if settings.gpu_memory_utilization is not None or not gpu.used_bytes:
            return None
        default = self.account(settings).settings.gpu_memory_utilization or 1.0
        free = int((gpu.total_bytes - gpu.used_bytes - _FREE) / gpu.total_bytes * 100) / 100
        return free if 0 < free < default else None

    def _with_room_for_graphs(self, settings: Settings) -> tuple[Settings, bool]:
        """Lower the share of the GPU where graphs that lie outside of it would not find room."""
        plan, gpu = self.account(settings), self.request.gpu
        over = plan.peak_bytes + gpu.used_bytes + _SPARE - gpu.total_bytes
        pinned = "gpu_memory_utilization" in self.pinned or "kv_cache_memory_bytes" in self.pinned
        if plan.graphs_inside or pinned or over <= 0 or plan.kv_bytes <= over:
            return settings, False
        share = int((plan.budget_bytes - over) / gpu.total_bytes * 100) / 100
        return replace(settings, gpu_memory_utilization=share), True

    def _is_v0(self, settings: Settings) -> bool:
        return self.account(settings).engine == "V0"

    def _with_chunks(self, settings: Settings) -> Settings:
        """Turn chunked prefill on in V0, but for sliding windows, which it does not go with."""
        sliding = any(layer.kind != "full" for layer in self.request.model.layers)
        known = spans.order(self.request.version) >= spans.order("0.5.4")
        if settings.enable_chunked_prefill is None and known and not sliding:
            return replace(settings, enable_chunked_prefill=True)
        return settings

    def _has(self, flag: str) -> bool:
        return flag in self.request.flags.flags


def decide(request: Request, tables: Tables) -> Decision:
    """Return what to launch with. The same request always gives the same answer."""
    return Planner(request, tables).decide()


def _is_better(one: Decision, other: Decision) -> bool:
    """Whether one decision is better: one that fits, the longer context, the more left for it."""
    return _worth(one) > _worth(other)


def _worth(decision: Decision) -> tuple[bool, bool, int, int]:
    plan = decision.memory
    length = plan.max_model_len if decision.fits else plan.longest_model_len
    return (decision.fits, plan.loads, length, 0 if decision.fits else plan.kv_bytes)


def _powers(most: int) -> Iterator[int]:
    size = 1
    while size <= max(most, 1):
        yield size
        size *= 2


def _graph_size(requests: int) -> int:
    """Round down to a batch size for which vLLM captures a graph: steps of 8, of 16 above 256."""
    step = 16 if requests > 256 else 8 if requests > 8 else 1  # noqa: PLR2004 - vLLM's own sizes
    return requests // step * step


def _full_dtype(asked: str | None, own: str | None) -> str:
    names: dict[str, Any] = {"half": "float16", "float": "float32"}
    if asked and asked != "auto":
        return str(names.get(asked, asked))
    return own if own in {"float16", "bfloat16"} else "bfloat16"
