"""What a run found: findings, skips, and the report that every renderer reads."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from flashdoctor.model.rule import Component, Package, Safety, Severity
from flashdoctor.model.snapshot import Snapshot

if TYPE_CHECKING:
    from flashdoctor.model.claim import Claim

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


class Remedy(NamedTuple):
    """An install plan behind a fix: what its commands change, and what was found to be well then.

    `releases` holds what is installed anew, by package; `assume` the same as items of `--assume`;
    `heals` the ids of the findings that are gone afterwards.
    """

    releases: Mapping[str, str]
    removes: tuple[str, ...] = ()
    assume: tuple[str, ...] = ()
    heals: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the plan's object in a fix."""
        return {
            "releases": dict(self.releases),
            "removes": list(self.removes),
            "assume": list(self.assume),
            "heals": list(self.heals),
        }


class Advice(NamedTuple):
    """A fix with the user's values filled in.

    `package`: see `Fix`. `plan`: what its commands do, where they were planned for this machine;
    `healed_by` names the finding whose commands mend this one as well. `leaves_open`: the facts
    that the commands would depend on and that nobody stated.
    """

    text: str
    commands: tuple[str, ...] = ()
    safety: Safety = "manual"
    package: Package | None = None
    plan: Remedy | None = None
    healed_by: str | None = None
    leaves_open: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the fix's object in the contract; what does not apply is left out."""
        more = {
            "plan": self.plan.to_json() if self.plan else None,
            "healed_by": self.healed_by,
            "leaves_open": list(self.leaves_open) or None,
        }
        return {
            "text": self.text,
            "commands": list(self.commands),
            "safety": self.safety,
            **{key: value for key, value in more.items() if value is not None},
        }


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
            "fix": self.fix.to_json(),
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
    """A verdict with everything that led to it.

    `ask` is what to ask whoever pasted the text, `folklore` holds the claims that the text carries.
    """

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
    folklore: tuple[Claim, ...] = ()

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
            **({"folklore": [claim.pointer() for claim in self.folklore]} if self.folklore else {}),
        }
