"""What to change first where a model does not fit: each change alone lets the engine start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from flashdoctor.tune.memory_types import GIB, Change

if TYPE_CHECKING:
    from flashdoctor.tune.defaults import Case
    from flashdoctor.tune.memory_types import MemoryPlan, Settings

_STEP = 1024
"""Lengths are proposed in multiples of this."""
_MOST_USED = 0.95
"""More of a GPU leaves no room for graphs and for what others need."""
_FEW_TOKENS = 2048
_FEW_SEQS = 64
_MOST_RANKS = 8


class _Try(NamedTuple):
    flag: str
    value: str
    settings: Settings
    why: str
    changes_output: bool = False


def advise(
    failed: MemoryPlan, case: Case, given: Settings, again: Callable[[Settings], MemoryPlan]
) -> MemoryPlan:
    """Return the plan with the changes that let the engine start, the mildest first.

    `given` are the settings before the engine's defaults; `again` plans with others.
    """
    found = []
    for one in (*_tries(failed, case, given), *_ranks(case, given)):
        other = again(one.settings)
        if other.fits:
            gain = other.kv_bytes - failed.kv_bytes + failed.needed_bytes - other.needed_bytes
            found.append(Change(one.flag, one.value, gain, one.why, one.changes_output))
    return replace(failed, changes=tuple(_mildest(found)))


def _mildest(found: list[Change]) -> Iterator[Change]:
    """Keep the first value of each flag that is enough."""
    flags = set()
    for change in found:
        if change.flag not in flags:
            flags.add(change.flag)
            yield change


def _tries(failed: MemoryPlan, case: Case, given: Settings) -> Iterator[_Try]:
    yield from _batch(failed, given)
    yield from _usage(case, given)
    yield from _length(failed, given)
    if failed.graphs_inside:
        eager = replace(given, enforce_eager=True)
        yield _Try("--enforce-eager", "", eager, "no CUDA graphs: slower at small batches")
    if not failed.settings.kv_cache_dtype.startswith("fp8"):
        small = replace(given, kv_cache_dtype="fp8")
        yield _Try("--kv-cache-dtype", "fp8", small, "halves the KV cache", changes_output=True)


def _batch(failed: MemoryPlan, given: Settings) -> Iterator[_Try]:
    """Propose a smaller batch where the profiled peak is what fills the card."""
    tokens = failed.settings.max_num_batched_tokens or 0
    seqs = failed.settings.max_num_seqs or 0
    least = max(_FEW_TOKENS, given.max_num_seqs or 0)
    other = replace(given, max_num_batched_tokens=least)
    why = "a smaller batch has a smaller peak, which leaves more for the KV cache"
    if tokens < seqs:
        why = "a batch must hold all sequences"
    if tokens < seqs or (tokens > least and failed.settings.enable_chunked_prefill):
        yield _Try("--max-num-batched-tokens", str(least), other, why)
    if seqs > _FEW_SEQS:
        few = replace(given, max_num_seqs=_FEW_SEQS)
        yield _Try("--max-num-seqs", str(_FEW_SEQS), few, "the sampler has fewer rows of logits")


def _usage(case: Case, given: Settings) -> Iterator[_Try]:
    """Propose the largest fraction of the card that is free, up to a limit."""
    free = 1 - case.gpu.used_bytes / max(case.gpu.total_bytes, 1)
    most = int(min(_MOST_USED, free) * 100) / 100
    now = case.settings.gpu_memory_utilization or 0.0
    if most <= 0 or most == now:
        return
    why = "the fraction is one of the whole card, and this much of it is free"
    value = str(most)
    yield _Try("--gpu-memory-utilization", value, replace(given, gpu_memory_utilization=most), why)


def _length(failed: MemoryPlan, given: Settings) -> Iterator[_Try]:
    """Propose the longest context that fits, or shorter ones where the batch grows with it."""
    longest = min(failed.longest_model_len, failed.max_model_len)
    rounded = longest // _STEP * _STEP or longest
    room = max(failed.kv_bytes, 0) / GIB
    why = f"the longest request that {room:.2f} GiB of KV cache hold"
    if rounded:
        yield _Try("--max-model-len", str(rounded), replace(given, max_model_len=rounded), why)
    elif not failed.settings.enable_chunked_prefill:
        why = "without chunked prefill the batch, and its peak, are as long as the context"
        length = failed.max_model_len // 2
        while length >= _FEW_TOKENS:
            yield _Try("--max-model-len", str(length), replace(given, max_model_len=length), why)
            length //= 2


def _ranks(case: Case, given: Settings) -> Iterator[_Try]:
    ranks = given.tensor_parallel_size * 2
    while ranks <= _MOST_RANKS and case.model.heads % ranks == 0:
        why = f"{ranks} GPUs of this kind share weights and KV heads"
        more = replace(given, tensor_parallel_size=ranks)
        yield _Try("--tensor-parallel-size", str(ranks), more, why)
        ranks *= 2
