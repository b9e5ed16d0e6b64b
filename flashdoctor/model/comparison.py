"""What differs between two snapshots, and what that changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from flashdoctor.model.facts import Fact
from flashdoctor.model.finding import Finding, Report

SCHEMA = "flashdoctor/diff/v1"

Change: TypeAlias = Literal["appears", "vanishes", "changes"]
Elsewhere: TypeAlias = Literal["finding", "passed", "skipped"]


class FactChange(NamedTuple):
    """A fact that differs; None where a snapshot does not state it.

    `matters`: ids of the findings that it makes appear, vanish or change. `derived`: neither
    snapshot states it, it follows from facts that they do.
    """

    path: str
    before: Fact | None
    after: Fact | None
    matters: tuple[str, ...] = ()
    derived: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return `{path, a, b, matters, derived}`."""
        return {
            "path": self.path,
            "a": self.before.to_json() if self.before else None,
            "b": self.after.to_json() if self.after else None,
            "matters": list(self.matters),
            "derived": self.derived,
        }


class FindingChange(NamedTuple):
    """A finding that only one side has, or that both have in different ways.

    `finding`: as B has it, or A where B does not. `other`: what the rule says of the other side,
    and the facts it `needs` where it was skipped there. `by`: the facts that make the difference.
    `alone`: each of them alone undoes it; else they are those that differ among its evidence.
    """

    change: Change
    finding: Finding
    other: Elsewhere
    needs: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    alone: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the change, and the whole finding below `finding`."""
        return {
            "change": self.change,
            "id": self.finding.id,
            "other": self.other,
            "needs": list(self.needs),
            "by": list(self.by),
            "alone": self.alone,
            "finding": self.finding.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two judged snapshots, A and B, by their names, and every difference between them."""

    names: tuple[str, str]
    before: Report
    after: Report
    findings: tuple[FindingChange, ...]
    facts: tuple[FactChange, ...]

    @property
    def exit_code(self) -> int:
        """0 where verdict and findings are the same, else 1."""
        return int(bool(self.findings) or self.before.verdict != self.after.verdict)

    def to_json(self) -> dict[str, Any]:
        """Return the v1 diff object."""
        sides = zip(("a", "b"), self.names, (self.before, self.after), strict=True)
        return {
            "schema": SCHEMA,
            "exit_code": self.exit_code,
            "required": list(self.after.required),
            **{key: _side(name, report) for key, name, report in sides},
            "findings": [change.to_json() for change in self.findings],
            "facts": [change.to_json() for change in self.facts],
            "matrix": {"date": self.after.matrix_date},
            "tool": dict(self.after.tool),
        }


def _side(name: str, report: Report) -> dict[str, Any]:
    return {
        "name": name,
        "verdict": report.verdict,
        "exit_code": report.exit_code,
        "findings": [finding.id for finding in report.findings],
        "missing": list(report.missing),
    }
