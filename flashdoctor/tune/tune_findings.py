"""What is wrong with a planned launch, as findings."""

from __future__ import annotations

from collections.abc import Iterator

from flashdoctor.model.finding import Advice, Evidence, Finding
from flashdoctor.model.rule import Severity
from flashdoctor.tune.plan import SHORTEST, Decision, Request

GIB = 1 << 30
_SOURCE = "vllm v1/core/kv_cache_utils.py; matrices/launch/memory.toml"


def findings_of(request: Request, decision: Decision) -> tuple[Finding, ...]:
    """Return what a reader has to know of a decision."""
    return tuple(_findings(request, decision))


def _findings(request: Request, decision: Decision) -> Iterator[Finding]:
    if decision.attention.refused:
        yield _finding(
            "FD790", "tune-no-attention-backend", "No attention backend takes this model here",
            detail=decision.attention.why, severity="error",
            fix="Leave the backend, the KV cache dtype and the block size to vLLM.",
            source=decision.attention.source,
        )  # fmt: skip
    elif not decision.fits:
        yield _finding(
            "FD791", "tune-does-not-fit",
            "The model does not fit" if decision.memory.loads else "vLLM refuses this launch",
            detail=_missing(request, decision), severity="error",
            fix="One of the proposals is enough.",
            evidence=_account(decision) if decision.memory.loads else (),
        )  # fmt: skip
    elif decision.shortened:
        length, limit = decision.memory.max_model_len, request.model.max_positions
        yield _finding(
            "FD792", "tune-context-shortened",
            f"The context is shortened to {length:,} of {limit or 0:,} tokens",
            detail="The KV cache has no room for one request of the model's full length.",
            severity="info", fix="See the proposals for what makes it longer.",
            evidence=_account(decision),
        )  # fmt: skip


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


def _finding(  # noqa: PLR0913 - one finding has many parts
    identity: str,
    name: str,
    title: str,
    *,
    detail: str,
    severity: Severity,
    fix: str,
    source: str = _SOURCE,
    evidence: tuple[Evidence, ...] = (),
) -> Finding:
    return Finding(
        id=identity,
        name=name,
        cause=name,
        outcome="fail",
        severity=severity,
        title=title,
        layer="framework",
        detail=detail,
        evidence=evidence,
        fix=Advice(text=fix),
        sources=(source,),
    )
