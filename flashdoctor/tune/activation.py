"""The peak that vLLM measures before it sizes its cache: one dummy batch, then the sampler.

The batch has max-num-batched-tokens tokens, the sampler max-num-seqs rows of the vocabulary. What
stays allocated (the experts' workspace) counts in both; of the rest the larger one is the peak.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashdoctor.tune import spans
from flashdoctor.tune.kv_cache import block_size, uses_mla
from flashdoctor.tune.memory_types import MIB

if TYPE_CHECKING:
    from flashdoctor.tune.defaults import Case

_OUTPUTS = 3
"""Tensors as wide as the hidden size beside an attention layer: residual, input, output."""
_KEPT_FROM = "0.14.0"
"""From this release on the experts' workspace stays allocated."""


def peak_bytes(case: Case) -> int:
    """Return the peak of the profiling run on one GPU."""
    experts = expert_workspace(case)
    forward, sampler = forward_bytes(case), sampler_bytes(case)
    if spans.order(case.version) >= spans.order(_KEPT_FROM):
        attention = max(attention_bytes(case), _hidden(case) * _OUTPUTS)
        return max(forward, experts + max(attention, sampler) if experts else sampler)
    return max(forward, experts + _hidden(case) * _OUTPUTS, sampler)


def _width(case: Case) -> int:
    return 4 if case.settings.dtype == "float32" else 2


def _tokens(case: Case) -> int:
    return case.settings.max_num_batched_tokens or 0


def _hidden(case: Case) -> int:
    """Return one tensor of the batch as wide as the hidden size."""
    return _tokens(case) * case.model.hidden * _width(case)


def forward_bytes(case: Case) -> int:
    """Return the largest sum of tensors alive in one dense layer."""
    model = case.model
    dense = model.moe is None or model.moe.dense > 0
    return max(_mlp(case) if dense else 0, attention_bytes(case))


def _mlp(case: Case) -> int:
    row = _forward_row(case)
    inner = case.model.intermediate // case.settings.tensor_parallel_size
    wide = row["intermediate"] * inner + row["hidden"] * case.model.hidden
    return int(_tokens(case) * wide * _width(case))


def _forward_row(case: Case) -> spans.Row:
    rows = case.rows("forward")
    compiled = case.engine == "V1" and not case.settings.enforce_eager
    fitting = [row for row in rows if row["compiled"] == compiled]
    named = [row for row in fitting if case.model.architecture in row.get("architectures", ())]
    return (named or [row for row in fitting if "architectures" not in row])[0]


def attention_bytes(case: Case) -> int:
    """Return what an attention layer holds: queries, keys, values, output, hidden tensors."""
    model, ranks = case.model, case.settings.tensor_parallel_size
    heads = max(1, model.heads // ranks)
    if uses_mla(case) and model.mla is not None:
        mla = model.mla
        wide = heads * (mla.qk_nope + mla.qk_rope + mla.v_head) + mla.kv_lora_rank + mla.qk_rope
        context = _context(case) * heads * (mla.qk_nope + mla.v_head) * _width(case)
    else:
        keys = 2 * max(1, model.kv_heads // ranks)
        wide, context = (2 * heads + keys) * model.head_dim, 0
    return _tokens(case) * wide * _width(case) + _OUTPUTS * _hidden(case) + context


def _context(case: Case) -> int:
    """Return the tokens of context whose keys and values MLA profiles."""
    settings = case.settings
    most = int(case.constant("prefill-context-tokens"))
    if spans.order(case.version) < spans.order("0.14.0"):
        most *= 2
    seqs = settings.max_num_seqs or 0
    asked = max(8 * (settings.max_model_len or 0), 4 * seqs * block_size(case))
    return max(min(asked, most), seqs * block_size(case))


def expert_workspace(case: Case) -> int:
    """Return the buffers of the experts: both products for each token and chosen expert."""
    moe = case.model.moe
    if moe is None:
        return 0
    inner = max(1, moe.intermediate // case.settings.tensor_parallel_size)
    hidden = case.model.hidden
    wide = max(inner, hidden) + max(2 * inner, hidden)
    return _tokens(case) * moe.per_token * wide * _width(case) + _hidden(case)


def sampler_bytes(case: Case) -> int:
    """Return the copies of logits alive, one row for each sequence, and the batch's output."""
    row = case.row("sampler", runner=case.runner) or {"copies": 1.5}
    rows = min(case.settings.max_num_seqs or 0, _tokens(case))
    copy = rows * case.model.vocab * int(case.constant("logit-bytes"))
    return int(row["copies"] * copy) + int(row.get("workspace_mib", 0)) * MIB + _hidden(case)
