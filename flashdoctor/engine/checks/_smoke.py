"""Rules over what really ran: the cases of a smoke test, and whether they prove a component."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.rule import Severity

Case: TypeAlias = Mapping[str, Any]

FLASH = frozenset({"fa2", "torch-flash", "fa3", "fa4"})
_MISSING = frozenset({"flash-attn-missing", "fa3-missing", "fa4-missing"})
_WORST = ("wrong", "died", "timeout", "error", "refused", "other", "missing", "inferred")


def cases_that_ran(view: View) -> list[Case]:
    """Return the cases of the smoke test; skips the rule where there was none."""
    if view.need("smoke.status") not in ("ok", "inferred"):
        raise MissingFactError("smoke.cases")
    return list(view.need("smoke.cases") or ())


def components_of(case: Case) -> list[str]:
    """Return what `--require` may name and this case proves."""
    return _texts(case.get("components"))


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def judge_proof(view: View, component: str) -> Judgement:
    """Demand that a kernel name proves the component; mildly where nobody requires it.

    Unrequired: a package that broke is told by the row's or an error's severity, one that is not
    installed or that this GPU is known not to run is not.
    """
    ran = cases_that_ran(view)
    own = [case for case in ran if component in components_of(case)]
    if any(case.get("proven") for case in own):
        return passed("smoke.proven")
    if view.value("smoke.status") != "ok":
        raise MissingFactError("smoke.proven")
    told = worst_first(own)
    if view.requires(component):
        return _unproven(told or worst_first(_akin(ran)), asked=bool(own))
    broken = [case for case in told if is_fault(case) and not lacks_package(case)]
    if not broken:
        raise MissingFactError("smoke.proven")
    severity: Severity | None = "error" if broken[0]["status"] == "error" else None
    return _unproven(broken, asked=True, severity=severity)


def is_fault(case: Case) -> bool:
    """Whether a case ended in another way than it should have."""
    return not case.get("as_expected") and case.get("status") not in ("missing", "inferred", "cpu")


def lacks_package(case: Case) -> bool:
    """Whether all that is wrong is a package that is not installed."""
    return bool(_MISSING & set(causes_of(case)))


def causes_of(case: Case) -> list[str]:
    """Return the causes that a case's refusal named."""
    return _texts(case.get("causes"))


def worst_first(cases: Iterable[Case]) -> list[Case]:
    """Return cases without a proof, the gravest first."""
    rest = [case for case in cases if case.get("status") in _WORST]
    return sorted(rest, key=lambda case: _WORST.index(str(case["status"])))


def _akin(ran: Iterable[Case]) -> list[Case]:
    """Return cases that were to run some flash kernel, where none of the component's was run."""
    return [case for case in ran if str(case.get("expected_family")) in FLASH]


def _unproven(told: Sequence[Case], *, asked: bool, severity: Severity | None = None) -> Judgement:
    first = told[0] if told else None
    cause = next((cause for case in told for cause in causes_of(case)), None)
    detail = describe(first) if first else ""
    if not asked:
        detail = f"No case that could prove it was run. {detail}".strip()
    return failed(
        "smoke.faults",
        "smoke.proven",
        detail=detail,
        cause=cause,
        severity=severity,
        values=advice(first),
    )


def describe(case: Case) -> str:
    """Return what became of a case in a sentence."""
    status, name, replaced_by = str(case.get("status")), case.get("name"), case.get("replaced_by")
    ended = {
        "proven": f"ran {case.get('family')}",
        "other": f"ran {case.get('family')} instead of {case.get('expected_family')}",
        "refused": "was refused",
        "wrong": f"ran {case.get('family') or 'unnamed kernels'} and gave a wrong output",
        "died": "took the process down",
        "timeout": "did not end in time",
        "missing": "lacks what it needs",
        "error": "ended in an error",
        "inferred": "ran, and no kernel could be named",
    }.get(status, f"ended as {status}")
    why = str(case.get("reason") or "").rstrip(".")
    if replaced_by:
        ended = f"asked for {case.get('backend')}, and transformers took {replaced_by}; it {ended}"
    return f"{name} {ended}: {why}." if why else f"{name} {ended}."


def advice(case: Case | None) -> dict[str, str]:
    """Return the values of `{advice.fix}` and `{advice.case}` in a row's fix."""
    fix = str((case or {}).get("fix") or "").strip()
    return {
        "advice.fix": fix or "See what the case itself says.",
        "advice.case": str((case or {}).get("name") or "flash-attn-d128"),
    }
