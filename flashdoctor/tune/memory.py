"""How much of a GPU each part of vLLM takes, accounted as the engine of one release does it.

`plan` is the interface for all others; what it counts is in kv_cache, activation and graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from flashdoctor.data.tables import Tables
    from flashdoctor.model.llm import Model
    from flashdoctor.model.versions import Capability


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU, as far as memory goes. `total_bytes` is what CUDA says, a little less than NVML."""

    name: str | None
    total_bytes: int
    capability: Capability | None = None
    used_bytes: int = 0
    """What other processes hold before vLLM starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The flags that memory depends on; None is the engine's default for the version and GPU."""

    max_model_len: int | None = None
    gpu_memory_utilization: float | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    kv_cache_dtype: str = "auto"
    block_size: int | None = None
    dtype: str | None = None
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    enforce_eager: bool = False
    cudagraph_mode: str | None = None
    cudagraph_capture_sizes: tuple[int, ...] | None = None
    max_cudagraph_capture_size: int | None = None
    enable_prefix_caching: bool | None = None
    enable_chunked_prefill: bool | None = None
    async_scheduling: bool | None = None
    hybrid_kv_cache: bool = True
    kv_cache_memory_bytes: int | None = None
    num_gpu_blocks_override: int | None = None
    cpu_offload_bytes: int = 0
    attention_backend: str | None = None
    entry: str = "serve"
    """`serve` or `llm` (the LLM class): they have other defaults."""
    engine: str | None = None
    """`V0` or `V1` where the user says so (VLLM_USE_V1), else what the release does by itself."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables that count: VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS, VLLM_MLA_DISABLE, ..."""


class Change(NamedTuple):
    """One thing to change: the flag, its value, what it brings in bytes, one sentence."""

    flag: str
    value: str
    gains_bytes: int
    why: str
    changes_output: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """Where the memory of each GPU goes. Bytes are those of one GPU (one rank)."""

    fits: bool
    refusal: str | None
    """What vLLM itself would print, None where it starts."""
    engine: str
    settings: Settings
    """As given, with every None that was decided filled in."""
    total_bytes: int
    budget_bytes: int
    weights_bytes: int
    activation_bytes: int
    non_torch_bytes: int
    graphs_bytes: int
    graphs_inside: bool
    """Whether the budget pays for the graphs; else they come on top of it."""
    kv_bytes: int
    kv_bytes_per_token: int
    """Of one long request: layers with a window do not grow with it."""
    kv_tokens: int
    block_size: int
    num_blocks: int
    max_model_len: int
    longest_model_len: int
    """The longest single request for which the cache has room, 0 where there is none."""
    concurrency: float
    """Requests of max_model_len that fit at once."""
    notes: tuple[str, ...] = ()
    """What was assumed or is not exact."""
    changes: tuple[Change, ...] = ()
    """What to change first; ordered."""


def plan(
    model: Model, gpu: Gpu, settings: Settings, version: str, *, tables: Tables
) -> MemoryPlan:
    """Return where the memory goes for this model under these settings.

    Raises `UsageError` where the version is none that vLLM ever had.
    """
    raise NotImplementedError
