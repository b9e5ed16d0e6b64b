"""A decision as a report: the flags with their reasons, the account, proposals, findings."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import replace

from flashdoctor.data.tables import Tables
from flashdoctor.model.finding import Finding
from flashdoctor.model.tuning import MemoryAccount, TuneReport
from flashdoctor.tune import emit, proposals, tune_findings
from flashdoctor.tune.choices import chosen_flags, chosen_variables, kept_settings
from flashdoctor.tune.memory import MemoryPlan
from flashdoctor.tune.plan import Decision, Planner, Request

GIB = 1 << 30


def report(  # noqa: PLR0913 - a plan, and what others say of the same machine and model
    request: Request,
    tables: Tables,
    *,
    name: str,
    findings: Iterable[Finding] = (),
    notes: Iterable[str] = (),
    tool: dict[str, str] | None = None,
) -> TuneReport:
    """Plan a launch of the model called `name` and say all there is to say of it.

    `findings` are what rules say of the model and the machine; errors among them make exit code 1.
    """
    planner = Planner(request, tables)
    decision = planner.decide()
    refusal = refusal_of(decision)
    proposed = proposals.proposals_of(planner, decision)
    own = tune_findings.findings_of(request, decision, proposed)
    found = (*own, *findings)
    failed = not decision.fits or any(item.severity == "error" for item in found)
    flags, variables = chosen_flags(planner, decision), chosen_variables(planner)
    planned = TuneReport(
        fits=decision.fits,
        exit_code=int(failed),
        model=request.model.name,
        gpu=request.gpu.name or "a GPU",
        gpus=gpus_used(decision),
        version=request.version,
        engine=decision.memory.engine,
        goal=request.goal,
        served=name,
        flags=flags,
        environment=variables,
        kept=kept_settings(planner, decision),
        memory=account_of(decision.memory, request.gpu.used_bytes),
        attention=decision.attention,
        refusal=refusal,
        refusal_offline=refusal_offline(planner, decision),
        proposals=proposed,
        findings=found,
        notes=(*notes, *decision.memory.notes),
        matrix_date=tables.date,
        tool=tool or {},
    )
    launch = launch_of(planned)
    return replace(planned, start=emit.program(launch), command=one_line(launch))


def one_line(launch: emit.Launch) -> str:
    """Return the command as one line for a shell."""
    settings = [f"{name}={shlex.quote(value)}" for name, value in launch.environment]
    return " ".join([*settings, shlex.join(emit.command(launch))])


def launch_of(report: TuneReport, folder: str | None = None) -> emit.Launch:
    """Return what `--emit` writes down; `folder` is the model's absolute path where it is one."""
    return emit.Launch(
        model=report.served,
        version=report.version,
        flags=tuple((flag.name, flag.value) for flag in report.flags),
        environment=tuple((item.name, item.value or "") for item in report.environment),
        folder=folder,
        gpus=report.gpus,
    )


def gpus_used(decision: Decision) -> int:
    """Return how many GPUs the launch takes."""
    settings = decision.settings
    each = settings.tensor_parallel_size * settings.pipeline_parallel_size
    return each * decision.data_parallel


def refusal_of(decision: Decision) -> str | None:
    """Return what vLLM would print where nothing fits: with its defaults, else as planned."""
    if decision.fits:
        return None
    if decision.attention.refused:
        return decision.attention.why
    return decision.default.refusal or decision.memory.refusal


def refusal_offline(planner: Planner, decision: Decision) -> str | None:
    """Return what the LLM class would print, whose batches are larger by default; None if the same.

    It stops where its weights and batch leave nothing at all, and else says how much is missing.
    """
    if decision.fits or decision.attention.refused:
        return None
    offline = planner.account(planner.base(decision.settings.tensor_parallel_size, entry="llm"))
    return offline.refusal if offline.refusal != refusal_of(decision) else None


def account_of(plan: MemoryPlan, others_bytes: int = 0) -> MemoryAccount:
    """Return the account in GiB; `others_bytes` is what other processes hold."""
    return MemoryAccount(
        total_gib=_gib(plan.total_bytes),
        budget_gib=_gib(plan.budget_bytes),
        weights_gib=_gib(plan.weights_bytes),
        activation_gib=_gib(plan.activation_bytes),
        non_torch_gib=_gib(plan.non_torch_bytes),
        graphs_gib=_gib(plan.graphs_bytes),
        graphs_inside=plan.graphs_inside,
        kv_gib=_gib(plan.kv_bytes),
        kv_bytes_per_token=plan.kv_bytes_per_token,
        kv_tokens=max(plan.kv_tokens, 0),
        max_model_len=plan.max_model_len,
        longest_model_len=plan.longest_model_len,
        concurrency=round(plan.concurrency, 2),
        others_gib=_gib(others_bytes),
    )


def _gib(size: int) -> float:
    return round(size / GIB, 3)
