"""Why vLLM would not start, in its own words of the release."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from flashdoctor.tune import partitions, spans
from flashdoctor.tune.memory_types import GIB

if TYPE_CHECKING:
    from flashdoctor.tune.defaults import Case
    from flashdoctor.tune.kv_cache import Pool

_ROUNDED_FROM = "0.14.0"
"""From here on sizes are rounded (`16.0`), before they have two digits (`16.00`)."""
_ESTIMATE = "Based on the available memory, the estimated maximum model length is {longest}. "


def words(case: Case, name: str, **values: Any) -> str:
    """Return the text of a refusal by its id in matrices/launch/memory.toml."""
    row = case.row("refusal", id=name)
    text = str(row["text"]) if row else name
    if values.get("longest") == 0:
        text = text.replace(_ESTIMATE, "")
    return text.format(**values)


def gib(case: Case, size: int) -> str:
    """Return a size in GiB as the release writes it."""
    if spans.order(case.version) < spans.order(_ROUNDED_FROM):
        return f"{size / GIB:.2f}"
    return str(round(size / GIB, 2))


def before_loading(case: Case) -> str | None:
    """Return what stops the start before a byte of the weights is read."""
    settings, model = case.settings, case.model
    if model.heads % settings.tensor_parallel_size:
        ranks = settings.tensor_parallel_size
        return words(case, "heads-not-divisible", heads=model.heads, ranks=ranks)
    return partitions.refused(case) or _too_long_for_model(case) or _batch(case) or _not_free(case)


def longest_allowed(case: Case) -> int:
    """Return the longest max-model-len that the engine takes for this model."""
    length, derived = case.settings.max_model_len or 0, case.model.max_positions
    if derived is None:
        return length
    forced = case.settings.variable("VLLM_ALLOW_LONG_MAX_MODEL_LEN") == "1"
    return max(length, derived) if forced else derived


def _too_long_for_model(case: Case) -> str | None:
    length, longest = case.settings.max_model_len or 0, longest_allowed(case)
    if length <= longest:
        return None
    return words(case, "beyond-derived", length=length, derived=longest)


def _batch(case: Case) -> str | None:
    settings = case.settings
    batched, seqs = settings.max_num_batched_tokens or 0, settings.max_num_seqs or 0
    length = settings.max_model_len or 0
    if batched < length and not settings.enable_chunked_prefill:
        return words(case, "batch-below-length", batched=batched, length=length)
    if batched < seqs:
        return words(case, "batch-below-seqs", batched=batched, seqs=seqs)
    return None


def budget_bytes(case: Case) -> int:
    """Return what the engine may use: a fraction of the total, not of what is free."""
    share = case.gpu.total_bytes * (case.settings.gpu_memory_utilization or 0.0)
    return math.ceil(share) if spans.order(case.version) >= spans.order("0.14.0") else int(share)


def _not_free(case: Case) -> str | None:
    row = case.row("budget", engine=case.engine) or {"checks_free": False}
    free, requested = case.gpu.total_bytes - case.gpu.used_bytes, budget_bytes(case)
    fixed = case.settings.kv_cache_memory_bytes is not None
    if not row["checks_free"] or fixed or free >= requested:
        return None
    return words(
        case,
        "not-free",
        free=gib(case, free),
        total=gib(case, case.gpu.total_bytes),
        utilization=case.settings.gpu_memory_utilization,
        requested=gib(case, requested),
    )


def too_long(case: Case, usable: int, needed: int, pool: Pool) -> str:
    """Return the refusal of a cache that one request of max-model-len does not fit into."""
    length = case.settings.max_model_len or 0
    return words(
        case,
        "too-long" if case.engine == "V1" else "too-long-v0",
        length=length,
        needed=gib(case, needed),
        available=gib(case, usable),
        longest=pool.longest(usable, length),
        tokens=usable // pool.block_bytes * pool.groups[0].spec.block,
    )
