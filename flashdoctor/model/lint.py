"""What a lint of a launch command found: findings with the flag, its line and what to write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flashdoctor.model.finding import Finding, Verdict

SCHEMA = "flashdoctor/lint/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """A finding about one flag or variable. `line` counts from 1, in `where` if that is named.

    `replacement` is what to write instead, in the release that was asked about; None where the
    flag is to be left out, or where nothing takes its place.
    """

    finding: Finding
    flag: str
    line: int
    replacement: str | None = None
    where: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the finding's object with `flag`, `line` and `replacement`."""
        where = {"where": self.where} if self.where else {}
        return {
            "flag": self.flag,
            "line": self.line,
            "replacement": self.replacement,
            **where,
            **self.finding.to_json(),
        }


class Engine(NamedTuple):
    """The release that was judged by: who named it, and where its flags were read.

    `exact`: whether this very release was read; else its neighbours were.
    """

    version: str
    named_by: str
    flags_from: str
    exact: bool

    def to_json(self) -> dict[str, Any]:
        """Return `{name, version, named_by, flags_from, exact}`."""
        return {"name": "vllm", **self._asdict()}


class Launched(NamedTuple):
    """One launch that was looked at, without its secrets."""

    line: int
    command: str
    engine: Engine

    def to_json(self) -> dict[str, Any]:
        """Return `{line, command, engine}`."""
        return {"line": self.line, "command": self.command, "engine": self.engine.to_json()}


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """The verdict on the launches of one text."""

    verdict: Verdict
    exit_code: int
    launches: tuple[Launched, ...] = ()
    findings: tuple[LintFinding, ...] = ()
    matrix_date: str = ""
    tool: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the v1 object."""
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "launches": [launch.to_json() for launch in self.launches],
            "findings": [item.to_json() for item in self.findings],
            "matrix": {"date": self.matrix_date},
            "tool": dict(self.tool),
        }
