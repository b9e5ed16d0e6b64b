"""Pairs of flags: one that needs another, and a batch too small for its requests. Pure.

What is not given counts as the release's own default, where that is certain.
"""

from __future__ import annotations

from collections.abc import Iterator

from flashdoctor.model.lint import LintFinding
from flashdoctor.model.versions import capability
from flashdoctor.tune import spans
from flashdoctor.tune.flags import Row
from flashdoctor.tune.kinds import DISAGREE
from flashdoctor.tune.lint_findings import Context, make, source_of, text_of
from flashdoctor.tune.lint_values import number_of
from flashdoctor.tune.memory_types import GIB

_BATCH = "max-num-batched-tokens"
_SEQS = "max-num-seqs"
_SEQS_FOLLOW_THE_BATCH = "0.10.0"
"""From here on a default of max-num-seqs is no more than the batch (0.9.1 without, 0.10.2 with)."""
_ONE_ENGINE = "0.11.0"
_USUAL_SEQS = 256
_CHANGE_IT = ("enable-chunked-prefill", "performance-mode", "runner", "task", "convert")
_MIB = 1024**2


def one_needs_another(context: Context, row: Row) -> Iterator[LintFinding]:
    """Yield that a flag is on whose partner is not."""
    asking, needed = row["flags"]
    given, other = context.parsed.last(asking), context.parsed.last(needed)
    off = given is None or given.negative
    if given is None or off or (other is not None and not other.negative):
        return
    if context.command.program == "demo":
        return
    yield make(
        DISAGREE, given.written,
        f"{text_of(given)} needs --{needed}",
        flag=text_of(given),
        advice=f"Add --{needed}, or leave {text_of(given)} out.",
        detail=f"vLLM stops with: {row['text']}.",
        sources=source_of(row),
    )  # fmt: skip


def batch_holds_sequences(context: Context, row: Row) -> Iterator[LintFinding]:
    """Yield that a batch has not a token for each request."""
    batch, seqs = context.parsed.last(_BATCH), context.parsed.last(_SEQS)
    tokens, requests = number_of(batch), number_of(seqs)
    place = batch or seqs
    tokens = _default_batch(context) if batch is None else tokens
    requests = _default_seqs(context) if seqs is None else requests
    if place is None or tokens is None or requests is None or tokens >= requests:
        return
    least = f"{requests:g} or more (2048 is the usual least)"
    advice = f"raise --{_BATCH} to {least}, or lower --{_SEQS}."
    if batch is None:
        advice = f"add --{_BATCH} {requests:g}, or lower --{_SEQS}."
    shown = [
        f"--{name} {number:g}" if given else f"vLLM's own --{name} here, {number:g}"
        for name, given, number in ((_BATCH, batch, tokens), (_SEQS, seqs, requests))
    ]
    yield make(
        DISAGREE,
        place.written,
        f"{shown[0]} is below {shown[1]}",
        flag=text_of(place),
        replacement=f"--{_BATCH} {max(requests, 2048):g}",
        advice=f"A batch needs a token for each request: {advice}",
        detail=f"vLLM stops with: max_num_batched_tokens ({tokens:g}) must be greater than or equal"
        f" to max_num_seqs ({requests:g}).",
        sources=source_of(row),
    )


def _default_seqs(context: Context) -> int | None:
    """Return the least that a release takes by itself: more on large GPUs."""
    follows = context.table.release.reached(_SEQS_FOLLOW_THE_BATCH)
    return None if follows else _USUAL_SEQS


def _default_batch(context: Context) -> int | None:
    """Return the most that a release takes by itself on this GPU, or on any where none is known."""
    if not context.table.release.reached(_ONE_ENGINE) or any(map(context.parsed.last, _CHANGE_IT)):
        return None
    listed = context.tables.table("launch/memory")["scheduler_v1"]
    rows = spans.rows_at(listed, context.table.release.version)
    fitting = [int(row["serve_batched_tokens"]) for row in rows if _takes(row, context)]
    return max(fitting, default=None)


def _takes(row: Row, context: Context) -> bool:
    mib, name = context.facts.value("gpu.memory_mib"), context.facts.value("gpu.name")
    stated = context.facts.value("gpu.compute_capability")
    have = capability(stated) if isinstance(stated, str) else None
    small = isinstance(mib, int) and mib * _MIB < row["min_memory_gib"] * GIB
    named = any(word in str(name).lower() for word in row.get("not_names", ()))
    return not (small or named or have in map(capability, row.get("not_capabilities", ())))
