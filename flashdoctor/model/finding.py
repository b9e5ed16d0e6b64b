"""What a run found: findings, skips, and the report that every renderer reads."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from flashdoctor.model.rule import Component, Safety, Severity
from flashdoctor.model.snapshot import Snapshot

SCHEMA = "flashdoctor/report/v1"

Verdict: TypeAlias = Literal["pass", "warn", "fail", "undetermined"]
Outcome: TypeAlias = Literal["fail", "crash"]
Certainty: TypeAlias = Literal["certain", "likely", "possible"]


class Evidence(NamedTuple):
    """A fact by path, or a log line by number, with its value and where it was read."""

    value: Any
    where: str
    fact: str | None = None
    line: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return `{fact|line, value, where}`."""
        key: dict[str, Any] = {"line": self.line} if self.fact is None else {"fact": self.fact}
        return {**key, "value": self.value, "where": self.where}


class Advice(NamedTuple):
    """A fix with the user's values filled in."""

    text: str
    commands: tuple[str, ...] = ()
    safety: Safety = "manual"


class Finding(NamedTuple):
    """One rule that failed, or that crashed. `follows` names the finding that explains it.

    `certainty` says how far pasted text bears a finding out; a machine that was looked at needs no
    such word.
    """

    id: str
    name: str
    cause: str
    outcome: Outcome
    severity: Severity
    title: str
    layer: str
    rank: int = 0
    evidence: tuple[Evidence, ...] = ()
    fix: Advice = Advice(text="")
    sources: tuple[str, ...] = ()
    follows: str | None = None
    detail: str = ""
    certainty: Certainty | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the finding's object in the report's contract."""
        certainty = {"certainty": self.certainty} if self.certainty else {}
        return {
            "id": self.id,
            "name": self.name,
            "cause": self.cause,
            "outcome": self.outcome,
            "severity": self.severity,
            "rank": self.rank,
            "title": self.title,
            "detail": self.detail,
            "layer": self.layer,
            "follows": self.follows,
            "evidence": [item.to_json() for item in self.evidence],
            "fix": {
                "text": self.fix.text,
                "commands": list(self.fix.commands),
                "safety": self.fix.safety,
            },
            "sources": list(self.sources),
            **certainty,
        }


class Skipped(NamedTuple):
    """A rule that could not be judged: the facts it needs and does not have."""

    id: str
    needs: tuple[str, ...]
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return `{id, needs, reason}`."""
        return {"id": self.id, "needs": list(self.needs), "reason": self.reason}


class Question(NamedTuple):
    """A command whose output would decide what the facts leave open, and why."""

    command: str
    why: str

    def to_json(self) -> dict[str, Any]:
        """Return `{command, why}`."""
        return {"command": self.command, "why": self.why}


class Report(NamedTuple):
    """A verdict with everything that led to it. `ask` is what to ask whoever pasted the text."""

    verdict: Verdict
    exit_code: int
    snapshot: Snapshot
    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    passed: tuple[str, ...] = ()
    required: tuple[Component, ...] = ()
    missing: tuple[str, ...] = ()
    matrix_date: str = ""
    tool: Mapping[str, str] = MappingProxyType({})
    ask: tuple[Question, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the v1 report object."""
        ask = {"ask": [question.to_json() for question in self.ask]} if self.ask else {}
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "required": list(self.required),
            "missing": list(self.missing),
            "facts": {fact.path: fact.to_json() for fact in self.snapshot},
            "findings": [finding.to_json() for finding in self.findings],
            "skipped": [item.to_json() for item in self.skipped],
            "passed": list(self.passed),
            "matrix": {"date": self.matrix_date},
            "tool": dict(self.tool),
            **ask,
        }
