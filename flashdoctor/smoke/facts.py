"""What a smoke run says as facts, so that rules judge it like anything else. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.model.smoke import SmokeCase
from flashdoctor.smoke import events
from flashdoctor.smoke.report import start_error
from flashdoctor.smoke.run import SmokeRun
from flashdoctor.smoke.skipped import PATHS, SOURCE

_LONGEST_KERNEL = 240
_LONGEST_REASON = 240
_UNUSABLE = "no kernel could be named"


def smoke_facts(cases: Sequence[SmokeCase], run: SmokeRun) -> tuple[Fact, ...]:
    """Return the smoke.* facts of a run."""
    status, error = read_status(cases, run)
    facts = {
        "smoke.status": known("smoke.status", status, SOURCE),
        "smoke.error": known("smoke.error", error, SOURCE)
        if error
        else absent("smoke.error", SOURCE),
    }
    if status == "ok":
        facts["smoke.proven"] = known("smoke.proven", proven_families(cases), SOURCE)
    else:
        facts["smoke.proven"] = unknown("smoke.proven", error, SOURCE)
    if status in {"ok", "inferred"}:
        faults = [fault_text(item) for item in cases if is_fault(item)]
        facts["smoke.faults"] = known("smoke.faults", faults, SOURCE)
        facts["smoke.cases"] = known("smoke.cases", [_record(item) for item in cases], SOURCE)
    for path in PATHS:
        facts.setdefault(path, unknown(path, error, SOURCE))
    return tuple(facts.values())


def read_status(cases: Sequence[SmokeCase], run: SmokeRun) -> tuple[str, str]:
    """Return how far it came, and why no kernel could be named.

    `ok`: kernels can be named. `inferred`: cases ran, and the profiler named no kernel of any.
    `cpu`: torch sees no GPU. `error`: torch or CUDA did not start.
    """
    error = start_error(run)
    if error and not any(item.status not in {"not-run", "died"} for item in cases):
        return "error", error
    if run.start.get("device") == "cpu" or all(item.status == "cpu" for item in cases):
        return "cpu", "torch sees no GPU in this environment"
    unnamed = [item for item in cases if item.status == "inferred"]
    if unnamed and not any(item.kernel for item in cases):
        said = next((item.profiler for item in unnamed if item.profiler not in {"", "ok"}), "")
        return "inferred", f"{_UNUSABLE}: {said}" if said else _UNUSABLE
    return "ok", ""


def proven_families(cases: Sequence[SmokeCase]) -> list[str]:
    """Return the families that a kernel name proves, in the order of the cases."""
    return list(dict.fromkeys(item.family for item in cases if item.proven and item.family))


def is_fault(item: SmokeCase) -> bool:
    """Whether a case ended in another way than it should have."""
    return not item.as_expected and item.status not in {"inferred", "missing", "cpu"}


def fault_text(item: SmokeCase) -> str:
    """Return a case that did not end as it should in one line."""
    ran = f" ({item.family} ran)" if item.status == "other" and item.family else ""
    why = why_of(item)
    return f"{item.case.name}: {item.status}{ran}" + (f", {why}" if why else "")


def why_of(item: SmokeCase) -> str:
    """Return the first reason, else the first thing that was said."""
    words = [reason.text for reason in item.reasons] or list(item.messages)
    return " ".join(words[0].split())[:_LONGEST_REASON] if words else ""


def _record(item: SmokeCase) -> dict[str, Any]:
    case = item.case
    return {
        "name": case.name,
        "api": case.api,
        "backend": case.backend,
        "expected_family": case.expected_family,
        "family": item.family,
        "proven": item.proven,
        "as_expected": item.as_expected,
        "status": item.status,
        "ms": item.ms,
        "seconds": item.seconds,
        "gain": item.gain_over_math,
        "kernel": item.kernel[:_LONGEST_KERNEL] if item.kernel else None,
        "max_abs_error": item.max_abs_error,
        "causes": [reason.cause for reason in item.reasons],
        "reason": events.text(why_of(item)),
        "fix": next((reason.fix for reason in item.reasons if reason.fix), ""),
        "components": list(item.proves),
        "replaced_by": item.replaced_by,
    }
