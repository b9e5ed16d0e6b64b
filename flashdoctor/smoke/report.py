"""From what the children said to what became of each case. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flashdoctor.data.tables import Tables
from flashdoctor.model import versions
from flashdoctor.model.finding import Finding, Report, Verdict
from flashdoctor.model.smoke import Case, Reason, SmokeCase, SmokeReport, Started, Status
from flashdoctor.model.versions import Capability
from flashdoctor.smoke import events
from flashdoctor.smoke.classify import attention_family, attention_kernels, reasons
from flashdoctor.smoke.run import Event, SmokeRun

_RAW: dict[str, Status] = {
    "refused": "refused", "wrong": "wrong", "error": "error", "missing": "missing", "cpu": "cpu",
    "died": "died", "timeout": "timeout", "not-run": "not-run",
}  # fmt: skip
_EXPLAINED = frozenset({"other", "refused", "error", "died", "missing"})
_SDPA_NAMES = {
    "torch-flash": "flash",
    "cudnn": "cudnn",
    "mem-efficient": "mem-efficient",
}
_ANY = ("default", "")  # backends by which a library chooses for itself


def read_started(run: SmokeRun) -> Started:
    """Return what the first child said of torch and the GPU."""
    start = run.start
    return Started(
        torch=events.text(start.get("torch"), 100),
        device=events.text(start.get("device"), 100),
        capability=events.text(start.get("capability"), 10),
        import_s=events.number(start.get("import_s")),
        cuda_s=events.number(start.get("cuda_s")),
    )


def start_error(run: SmokeRun) -> str:
    """Return why torch or CUDA did not start, an empty text where they did."""
    return run.error or events.text(run.start.get("error"))


def judge_cases(cases: Sequence[Case], run: SmokeRun, tables: Tables) -> tuple[SmokeCase, ...]:
    """Return what became of each case, gains included; `run` holds one result for each."""
    broken = events.text(run.start.get("error"))
    pairs = zip(cases, run.results, strict=True)
    if broken:
        return tuple(SmokeCase(case=case, status="not-run", messages=(broken,)) for case in cases)
    gpu = versions.capability(events.text(run.start.get("capability")))
    return with_gains([judge_case(case, event, tables, gpu) for case, event in pairs])


def judge_case(
    case: Case, event: Event, tables: Tables, gpu: Capability | None = None
) -> SmokeCase:
    """Name the family that ran, and say whether that is the one that was asked for."""
    names = events.kernels(event.get("kernels"))
    family = attention_family(tables, names)[0] if names else None
    status = _status(case, event, family)
    told = events.messages(event.get("messages"))
    got = events.details(event.get("got"))
    explained = status in _EXPLAINED or got.get("as_asked") is False
    return SmokeCase(
        case=case,
        status=status,
        family=family,
        kernel=_deciding(tables, names, family),
        kernels=names,
        relative_error=events.number(event.get("relative_error")),
        max_abs_error=events.number(event.get("max_abs_error")),
        ms=events.number(event.get("ms")),
        peak_mib=events.number(event.get("peak_mib")),
        seconds=events.number(event.get("seconds")),
        reasons=_reasons(case, tables, event, gpu) if explained else (),
        messages=told,
        profiler=events.text(event.get("profiler")),
        inference=_inference(case, event, got) if status == "inferred" else "",
        asked=events.details(event.get("asked")),
        got=got,
    )


def _status(case: Case, event: Event, family: str | None) -> Status:
    raw = event.get("status")
    if raw == "error" and event.get("fatal") is True:
        return "died"
    if raw != "ran":
        return _RAW.get(str(raw), "error")
    if family is None:
        return "inferred"
    return "proven" if family in case.expected else "other"


def _deciding(tables: Tables, names: Iterable[str], family: str | None) -> str | None:
    """Return the kernel that names the family: the longest of its main ones."""
    own = [item for item in attention_kernels(tables, names) if item.family == family]
    main = [item for item in own if item.part == "attention"] or own
    return main[0].name if main else None


def _reasons(
    case: Case, tables: Tables, event: Event, gpu: Capability | None
) -> tuple[Reason, ...]:
    """Return the causes; where some are about the family that was asked for, only those."""
    told = events.messages(_refusals_of(case, event)) or events.messages(event.get("messages"))
    found = [
        Reason(
            cause=item.cause,
            text=item.text,
            fix=item.fix,
            backend=item.backend,
            message=item.message,
        )
        for item in reasons(tables, told, gpu=gpu)
    ]
    own = [item for item in found if item.backend == case.expected_family]
    return tuple(own or found)


def _refusals_of(case: Case, event: Event) -> Any:
    """Return what SDPA's backend of the family that was asked for said, where it was asked."""
    told = event.get("refusals")
    return told.get(_SDPA_NAMES.get(case.expected_family)) if isinstance(told, dict) else None


def _inference(case: Case, event: Event, got: Mapping[str, Any]) -> str:
    """Return what can be said where no kernel could be named; it proves nothing.

    transformers may replace what was asked for, and some backends choose among families.
    """
    parts = []
    if case.api == "transformers":
        taken = got.get("attn_implementation")
        parts += [f"transformers says that it took {taken}"] if isinstance(taken, str) else []
    elif case.backend not in _ANY and len(case.expected) == 1:
        parts.append(f"only {case.expected_family} was allowed to run")
    measured = event.get("inferred")
    growth = measured.get("memory") if isinstance(measured, dict) else None
    if growth == "N":
        parts.append("its memory grew with the length, as that of a fused kernel does")
    elif growth == "N squared":
        parts.append("its memory grew with the square of the length, as that of math does")
    return "; ".join(parts)


def with_gains(done: Iterable[SmokeCase]) -> tuple[SmokeCase, ...]:
    """Return the cases with their gains over the same call by math and by SDPA's default."""
    judged = list(done)
    math, default = _times(judged, "math"), _times(judged, "default")
    return tuple(
        replace(
            item,
            gain_over_math=_gain(math, item, "math"),
            gain_over_default=_gain(default, item, "default"),
        )
        for item in judged
    )


def _call(case: Case) -> tuple[Any, ...]:
    """Return what two cases must share to be compared by time."""
    plain = not set(case.features) & {"varlen", "kvcache", "paged"}
    whole_model = case.api in {"transformers", "vllm"}
    api = case.name if whole_model or not plain else ""
    return (case.shape, case.dtype, case.direction, case.causal, case.mask, api)


def _times(done: Iterable[SmokeCase], backend: str) -> dict[tuple[Any, ...], float]:
    return {_call(item.case): item.ms for item in done if item.ms and _is_itself(item, backend)}


def _gain(times: dict[tuple[Any, ...], float], item: SmokeCase, backend: str) -> float | None:
    other_ms = None if _is_itself(item, backend) else times.get(_call(item.case))
    right = item.status in {"proven", "other", "inferred"}
    return other_ms / item.ms if right and item.ms and other_ms else None


def _is_itself(item: SmokeCase, backend: str) -> bool:
    return item.case.api == "sdpa" and item.case.backend == backend


_FAMILY = ("FD41", "FD420")
_PACKAGES = {
    "flash-attn": "flash_attn.version",
    "flash-attn-3": "flash_attn_3.version",
    "flash-attn-4": "flash_attn_4.version",
    "vLLM": "vllm.version",
    "transformers": "transformers.version",
    "torch": "torch.version",
}
_NOT_DIAGNOSED = 3
_CERTAIN = frozenset({"wrong", "died", "timeout"})
"""What is a fault whatever the other cases would have shown."""


def compose(
    done: Sequence[SmokeCase], run: SmokeRun, judged: Report, left_out: Sequence[Case] = ()
) -> SmokeReport:
    """Return the report: of all that was judged, what is about the cases, and what explains it."""
    findings = about_cases(judged.findings)
    note = str(judged.snapshot.value("smoke.error", "")) or _gap(done)
    verdict, exit_code = decide(done, findings, str(judged.snapshot.value("smoke.status", "")))
    if run.interrupted:  # what a case that did not run would have shown is not known
        note = run.interrupted
        if not (verdict == "fail" and any(item.status in _CERTAIN for item in done)):
            verdict, exit_code = "undetermined", _NOT_DIAGNOSED
    return SmokeReport(
        verdict=verdict,
        exit_code=exit_code,
        cases=tuple(done),
        findings=findings,
        required=judged.required,
        started=read_started(run),
        seconds=run.seconds,
        note=note,
        left_out=tuple(left_out),
        where=str(judged.snapshot.value("python.executable", "")),
        versions={
            name: str(judged.snapshot.value(path))
            for name, path in _PACKAGES.items()
            if judged.snapshot[path].is_known
        },
        matrix_date=judged.matrix_date,
        tool=judged.tool,
    )


def about_cases(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings about what ran, and above them those that they follow from."""
    listed = list(findings)
    own = [item for item in listed if item.id.startswith(_FAMILY)]
    roots = {item.follows for item in own}
    kept = [item for item in listed if item in own or item.id in roots]
    return tuple(item._replace(rank=place) for place, item in enumerate(kept, start=1))


def decide(
    done: Sequence[SmokeCase], findings: Iterable[Finding], status: str
) -> tuple[Verdict, int]:
    """Return the verdict and the exit code: 1 an error about a case, 3 nothing proven, else 0.

    A refusal that is due is an answer: where all cases ended as they should, that is a pass.
    """
    severities = {item.severity for item in findings if item.id.startswith(_FAMILY)}
    if "error" in severities:
        return "fail", 1
    proven = any(item.proven for item in done)
    answered = bool(done) and all(item.as_expected for item in done)
    if status != "ok" or not (proven or answered):
        return "undetermined", _NOT_DIAGNOSED
    return ("warn" if "warning" in severities else "pass"), 0


def _gap(done: Iterable[SmokeCase]) -> str:
    """Return why nothing was proven, where that is all that can be said."""
    rest = [item for item in done if not item.as_expected]
    if any(item.proven for item in done) or not rest:
        return ""
    first = rest[0]
    told = [reason.text for reason in first.reasons] or list(first.messages)
    return f"no kernel was proven: {first.case.name} ended as {first.status}" + (
        f", {told[0]}" if told else ""
    )
