"""What the memory model is asked and what it answers; sizes are bytes of one GPU (one rank)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from flashdoctor.model.versions import Capability

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU, as far as memory goes. `total_bytes` is what CUDA says: `cuda_total` of NVML's."""

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
    enable_expert_parallel: bool = False
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

    def variable(self, name: str) -> str | None:
        """Return the value of an environment variable, None where it is not set."""
        return dict(self.environment).get(name)


class Change(NamedTuple):
    """One thing to change, by which the model then starts: the flag, its value, one sentence.

    `gains_bytes`: how much more there is for the KV cache, or how much less of it is needed.
    """

    flag: str
    value: str
    gains_bytes: int
    why: str
    changes_output: bool = False
    """Whether it may change what the model answers: proposed, never chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """Where the memory of each GPU goes, and what fits into what is left for the KV cache."""

    fits: bool
    refusal: str | None
    """What vLLM itself would print, None where it starts."""
    engine: str
    runner: str
    """`V0`, or V1's first or second model runner: `V1`, `V2`."""
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
    """Available for the KV cache; below 0 where the rest takes more than the budget."""
    kv_bytes_per_token: int
    """Of all layers together, for a token that all of them keep; 0 without attention."""
    kv_tokens: int
    """As the engine counts and logs them."""
    block_size: int
    num_blocks: int
    needed_bytes: int
    """What one request of max_model_len takes."""
    max_model_len: int
    longest_model_len: int
    """The longest single request for which the cache has room, 0 where there is none."""
    concurrency: float
    """Requests of max_model_len that fit at once."""
    loads: bool = True
    """False where the refusal comes before a byte of the weights is read: no want of memory."""
    notes: tuple[str, ...] = ()
    """What was assumed or is not exact."""
    changes: tuple[Change, ...] = ()
    """What to change first where it does not fit, each enough by itself, the mildest first."""

    @property
    def peak_bytes(self) -> int:
        """What is in use at least when the engine runs: the budget, and graphs outside of it.

        NVML showed 0.3 to 2.6 GiB more in recorded runs, once 5.7: the CUDA context, and what
        warming up leaves in torch's allocator.
        """
        taken = self.weights_bytes + self.activation_bytes + self.non_torch_bytes
        return taken + max(self.kv_bytes, 0) + self.graphs_bytes
