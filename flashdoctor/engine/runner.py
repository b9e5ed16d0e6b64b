"""Run every rule over a snapshot: findings, skips and passes."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from flashdoctor.engine.advice import fill
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.engine.when import Trace, evaluate
from flashdoctor.model.finding import Evidence, Finding, Skipped
from flashdoctor.model.rule import Rule, Severity

CHECKS = "flashdoctor.engine.checks"

Result: TypeAlias = Finding | Skipped | None


class Results(NamedTuple):
    """What the rules said. `passed` holds the rules that were judged and hold."""

    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    passed: tuple[Rule, ...]


def run(rules: Iterable[Rule], view: View) -> Results:
    """Judge every rule; a rule that crashes becomes a finding, none stops the others."""
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    held: list[Rule] = []
    for rule in rules:
        result = judge(rule, view)
        if isinstance(result, Finding):
            findings.append(result)
        elif isinstance(result, Skipped):
            skipped.append(result)
        else:
            held.append(rule)
    return Results(findings=tuple(findings), skipped=tuple(skipped), passed=tuple(held))


def judge(rule: Rule, view: View) -> Result:
    """Judge one rule: a finding, a skip with what it needs, or None where it holds."""
    if rule.about and not view.get(rule.about).is_known:
        return _skip(rule, view, (rule.about,))
    try:
        judgement = _ask_check(rule.check, view) if rule.check else _ask_when(rule, view)
    except MissingFactError as missing:
        return _skip(rule, view, (missing.path,))
    except Exception as error:  # noqa: BLE001 - a crashing rule is a finding, never a traceback
        return _crash(rule, error)
    if not isinstance(judgement, Judgement):
        return _skip(rule, view, judgement)
    return _finding(rule, judgement, view) if judgement.outcome == "fail" else None


def load_checks(rules: Iterable[Rule]) -> None:
    """Import ahead of time, for callers that wait for something, the checks that surely run."""
    for rule in rules:
        if rule.check and not rule.about:
            with suppress(Exception):  # it crashes again when it is judged, and is a finding then
                _load(rule.check)


def _load(name: str) -> Any:
    return importlib.import_module(f"{CHECKS}.{name.replace('-', '_')}")


def _ask_check(name: str, view: View) -> Judgement:
    judgement: Judgement = _load(name).judge(view)
    return judgement


def _ask_when(rule: Rule, view: View) -> Judgement | tuple[str, ...]:
    trace = Trace()
    truth = evaluate(rule.when or {}, view.snapshot, view.required, trace)
    if truth is None:
        return tuple(dict.fromkeys(trace.missing))
    return failed(*dict.fromkeys(trace.used)) if truth else passed()


def _skip(rule: Rule, view: View, needs: tuple[str, ...]) -> Skipped:
    reasons = dict.fromkeys(view.get(path).reason for path in needs)
    return Skipped(
        id=rule.id, needs=needs, reason="; ".join(reason for reason in reasons if reason)
    )


def effective_severity(rule: Rule, view: View) -> Severity:
    """Return the row's severity, or its milder one where what it breaks is not required."""
    if rule.component is None or view.requires(rule.component):
        return rule.severity
    return rule.unrequired


def _finding(rule: Rule, judgement: Judgement, view: View) -> Finding:
    return Finding(
        id=rule.id,
        name=rule.name,
        cause=judgement.cause or rule.cause,
        outcome="fail",
        severity=judgement.severity or effective_severity(rule, view),
        title=rule.title,
        layer=rule.layer,
        evidence=_evidence((*judgement.evidence, *rule.evidence), view),
        fix=fill(rule.fix, view.snapshot, judgement.values),
        sources=_sources(rule),
        detail=judgement.detail,
    )


def _evidence(paths: Iterable[str], view: View) -> tuple[Evidence, ...]:
    facts = [view.get(path) for path in dict.fromkeys(paths)]
    return tuple(
        Evidence(fact=fact.path, value=fact.value, where=fact.source)
        for fact in facts
        if fact.state != "unknown"
    )


def _sources(rule: Rule) -> tuple[str, ...]:
    return tuple(f"{source.url} (checked {source.checked.isoformat()})" for source in rule.sources)


def _crash(rule: Rule, error: Exception) -> Finding:
    return Finding(
        id=rule.id,
        name=rule.name,
        cause="rule-crashed",
        outcome="crash",
        severity="error",
        title=f"The rule {rule.name} crashed, so this stack was not judged by it",
        layer="internal",
        detail=f"{type(error).__name__}: {error}",
        sources=_sources(rule),
    )
