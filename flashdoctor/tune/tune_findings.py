"""What is wrong with a planned launch, as findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flashdoctor.model.finding import Advice, Evidence, Finding
from flashdoctor.model.tuning import Proposal
from flashdoctor.tune.kinds import DOES_NOT_FIT, NO_BACKEND, SHORTENED, Kind
from flashdoctor.tune.plan import SHORTEST, Decision, Request
from flashdoctor.tune.proposals import MOST_GPUS

GIB = 1 << 30


_NO_WAY = "No setting and no number of these GPUs that was tried is enough, up to {most} of them."
_OTHERWISE = " Take GPUs with more memory, more nodes of them, or a smaller or quantised model."
_REFUSED = "Change what vLLM names."


def findings_of(
    request: Request, decision: Decision, proposed: Sequence[Proposal] = ()
) -> tuple[Finding, ...]:
    """Return what a reader has to know of a decision; `proposed` is what would make it fit."""
    return tuple(_findings(request, decision, proposed))


def _findings(
    request: Request, decision: Decision, proposed: Sequence[Proposal]
) -> Iterator[Finding]:
    if decision.attention.refused:
        source = decision.attention.source
        yield _finding(NO_BACKEND, detail=decision.attention.why, source=source)
    elif not decision.fits:
        loads = decision.memory.loads
        yield _finding(
            DOES_NOT_FIT,
            title="" if loads else "vLLM refuses this launch",
            detail=_missing(request, decision),
            evidence=_account(decision) if loads else (),
            fix=_way_out(decision, proposed),
        )
    elif decision.shortened:
        length, limit = decision.memory.max_model_len, request.model.max_positions or 0
        yield _finding(
            SHORTENED,
            title=f"The context is shortened to {length:,} of {limit:,} tokens",
            detail=SHORTENED.about,
            evidence=_account(decision),
        )


def _way_out(decision: Decision, proposed: Sequence[Proposal]) -> str:
    """Return what to do where nothing fits: never a word of proposals that are not there."""
    if proposed:
        return DOES_NOT_FIT.fix
    if not decision.memory.loads:
        return _REFUSED
    return _NO_WAY.format(most=MOST_GPUS) + _OTHERWISE


def _missing(request: Request, decision: Decision) -> str:
    plan = decision.memory
    if not plan.loads and plan.refusal:
        return plan.refusal
    if plan.kv_bytes <= 0:
        return "Nothing is left for the KV cache."
    asked = request.asked_len
    if asked is None:
        return (
            f"The KV cache holds {plan.kv_tokens:,} tokens: a context below {SHORTEST:,} is not"
            " chosen by itself."
        )
    return f"The KV cache holds {plan.kv_tokens:,} tokens, and a context of {asked:,} is asked for."


def _account(decision: Decision) -> tuple[Evidence, ...]:
    plan = decision.memory
    parts = {
        "weights": plan.weights_bytes,
        "activations": plan.activation_bytes,
        "KV cache": plan.kv_bytes,
        "budget": plan.budget_bytes,
    }
    said = ", ".join(f"{name} {size / GIB:.1f} GiB" for name, size in parts.items())
    return (Evidence(value=said, where="the memory account", fact="gpu.memory_mib"),)


def _finding(  # noqa: PLR0913 - a finding is that much
    kind: Kind,
    *,
    detail: str,
    title: str = "",
    source: str = "",
    evidence: tuple[Evidence, ...] = (),
    fix: str = "",
) -> Finding:
    return Finding(
        id=kind.id,
        name=kind.name,
        cause=kind.label,
        outcome="fail",
        severity=kind.severity,
        title=title or kind.title,
        layer=kind.layer,
        detail=detail,
        evidence=evidence,
        fix=Advice(text=fix or kind.fix),
        sources=(source or kind.source,),
    )
