"""What was not chosen and could be: what changes outputs, and what would make a model fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from flashdoctor.model import versions
from flashdoctor.model.tuning import Proposal
from flashdoctor.tune import spans, variants
from flashdoctor.tune.memory import Change, MemoryPlan, Settings
from flashdoctor.tune.plan import SHORTEST, Decision, Planner
from flashdoctor.tune.spans import Row

GIB = 1 << 30
_STEP = 256
_LOWER = (("fp8", 8.0, "FP8"), ("awq", 4.5, "4-bit AWQ or GPTQ"))
"""Kinds of checkpoints: the method that says where they run, bits of a weight with its scales."""

_FULL_BITS = 16


def proposals_of(planner: Planner, decision: Decision) -> tuple[Proposal, ...]:
    """Return what else could be done, what helps most first."""
    if decision.attention.refused:
        return ()
    if decision.fits:
        return tuple(_better(planner, decision))
    return tuple(dict.fromkeys(_rescues(planner, decision)))


def _better(planner: Planner, decision: Decision) -> Iterator[Proposal]:
    """Propose what would gain cache: fp8 KV, a lower-bit checkpoint, more of the GPU."""
    if _may_take_fp8(planner, decision):
        other = planner.account(replace(decision.settings, kv_cache_dtype="fp8"))
        yield Proposal(_fp8_text(decision, other), "--allow fp8-kv", changes_output=True)
    if decision.settings.tensor_parallel_size * decision.data_parallel < planner.request.gpus:
        yield from _whole_experts(planner, decision)
    if decision.shortened:
        yield from _smaller_weights(planner, decision)
        yield from _more_gpus(planner, decision)


def _fp8_text(decision: Decision, other: MemoryPlan) -> str:
    if decision.shortened:
        length = min(other.longest_model_len, decision.default.max_model_len)
        return f"fp8 KV cache would hold {length:,} tokens of context and change outputs slightly"
    ratio = other.kv_tokens / max(decision.memory.kv_tokens, 1)
    return f"fp8 KV cache would hold {ratio:.1f} x the tokens and change outputs slightly"


def _may_take_fp8(planner: Planner, decision: Decision) -> bool:
    free = "kv-cache-dtype" not in planner.request.pins and "fp8-kv" not in planner.request.allow
    return free and decision.fp8_runs and decision.settings.kv_cache_dtype == "auto"


def _rescues(planner: Planner, decision: Decision) -> Iterator[Proposal]:
    """Propose what lets the engine start, each tried on the account."""
    yield from _shorter(planner, decision)
    for change in decision.default.changes:
        if change.flag not in {"--max-model-len", "--tensor-parallel-size", "--kv-cache-dtype"}:
            yield _of_change(change)
    if _may_take_fp8(planner, decision):
        other = planner.account(replace(decision.settings, kv_cache_dtype="fp8"))
        if other.fits or (other.loads and _usable(planner, other)):
            length = min(other.longest_model_len, other.max_model_len)
            text = f"fp8 KV cache would hold {length:,} tokens of context; changes outputs slightly"
            yield Proposal(text, "--allow fp8-kv", changes_output=True)
    yield from _whole_experts(planner, decision)
    yield from _more_gpus(planner, decision)
    if decision.memory.loads:
        yield from _smaller_weights(planner, decision)
        yield from _smaller_model(planner, decision)


def _usable(planner: Planner, plan: MemoryPlan) -> bool:
    """Whether a context of the planner's own choice would come of it."""
    return planner.request.asked_len is None and planner.safe_length(plan) > 0


def _shorter(planner: Planner, decision: Decision) -> Iterator[Proposal]:
    length = planner.longest_safe(decision.memory)
    if length and planner.account(replace(decision.settings, max_model_len=length)).fits:
        text = f"a context of {length:,} tokens fits, which serves short requests only"
        yield Proposal(text, f"--max-model-len {length}")


def _of_change(change: Change) -> Proposal:
    option = f"--pin {change.flag.lstrip('-')}" + (f"={change.value}" if change.value else "")
    gain = change.gains_bytes / GIB
    text = f"{change.flag} {change.value}".strip() + f": {change.why} ({gain:+.1f} GiB)"
    return Proposal(text, option, changes_output=change.changes_output)


def _whole_experts(planner: Planner, decision: Decision) -> Iterator[Proposal]:
    """Propose to leave experts whole, and fewer ranks, where quantised blocks do not divide."""
    for ranks in planner.parallel_sizes():
        plain = _with(decision.settings, planner, ranks)
        whole = replace(plain, enable_expert_parallel=True)
        size = f"--pin tensor-parallel-size={ranks}"
        if planner.request.model.moe is None or planner.account(plain).loads:
            continue
        if planner.account(whole).fits:
            text = f"{ranks} GPUs with whole experts on each, as their blocks do not divide"
            yield Proposal(text, f"{size} --pin enable-expert-parallel")
            return


def _more_gpus(planner: Planner, decision: Decision) -> Iterator[Proposal]:
    """Propose the smallest number of such GPUs on which the whole context fits."""
    ranks = decision.settings.tensor_parallel_size * 2
    while ranks <= MOST_GPUS and planner.request.model.heads % ranks == 0:
        other = planner.account(_with(decision.settings, planner, ranks))
        if other.fits:
            text = f"{ranks} such GPUs hold {other.max_model_len:,} tokens of context"
            yield Proposal(text, f"--pin tensor-parallel-size={ranks}")
            return
        ranks *= 2


MOST_GPUS = 16


def _with(settings: Settings, planner: Planner, ranks: int) -> Settings:
    length = planner.request.most_len
    return replace(settings, tensor_parallel_size=ranks, max_model_len=length)


def _smaller_weights(planner: Planner, decision: Decision) -> Iterator[Proposal]:
    """Propose a checkpoint of fewer bits: how long a context its weights would leave room for."""
    model, plan = planner.request.model, decision.memory
    if model.quantization is not None:
        return
    for method, bits, kind in _LOWER:
        if not _runs_method(planner, method):
            continue
        saved = int(_linear_share(planner) * plan.weights_bytes * (1 - bits / _FULL_BITS))
        room = plan.kv_bytes + saved
        tokens = room // max(plan.kv_bytes_per_token, 1) if room > 0 else 0
        length = min(tokens, planner.request.most_len or tokens) // _STEP * _STEP
        if length > max(decision.memory.max_model_len if decision.fits else 0, _STEP):
            left = (plan.weights_bytes - saved) / GIB
            named = variants.checkpoint(planner.tables, model, method)
            text = (
                f"a checkpoint quantised to {kind}{named}: about {left:.1f} GiB of weights,"
                f" {length:,} tokens of context; changes outputs"
            )
            yield Proposal(text, changes_output=True)


def _smaller_model(planner: Planner, decision: Decision) -> Iterator[Proposal]:
    """Propose the largest model of the family that leaves room for a context worth having."""
    plan = decision.memory
    room = plan.kv_bytes + plan.weights_bytes
    for row in variants.smaller(planner.tables, planner.request.model):
        left = room - int(row["weights_gib"] * GIB)
        length = min(left // variants.token_bytes(row), planner.request.most_len or left)
        length = length // _STEP * _STEP
        if length >= (planner.request.asked_len or SHORTEST):
            said = f"about {row['weights_gib']:.1f} GiB of weights, {length:,} tokens of context"
            yield Proposal(f"a smaller model, {row['name']}: {said}", changes_output=True)
            return


def _runs_method(planner: Planner, method: str) -> bool:
    """Whether this release has a quantisation method, and the GPU what it asks for."""
    rows = planner.tables.compat("quantization")["vllm_method"]
    runs: list[Row] = next((row["runs"] for row in rows if row["method"] == method), [])
    run = spans.row_at(runs, planner.request.version)
    least = versions.capability(str(run["min_capability"])) if run else None
    gpu = planner.request.gpu.capability
    known = run is not None and spans.order(planner.request.version) >= spans.first_of(run)
    return known and (least is None or (gpu is not None and gpu >= least))


def _linear_share(planner: Planner) -> float:
    """Return the share of the weights that quantisation shrinks: not embedding, not lm_head."""
    weights = planner.request.model.weights
    kept = weights.embedding_bytes + weights.lm_head_bytes
    return 1 - kept / max(weights.total_bytes, 1)
