"""A policy that was read, and what it comes to on a day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import NamedTuple

from flashdoctor.engine.expectations import Expectation
from flashdoctor.engine.verdict import FailOn
from flashdoctor.model.facts import Fact, known, known_or_absent
from flashdoctor.model.finding import Finding
from flashdoctor.model.rule import Component


class Ignore(NamedTuple):
    """A rule whose finding does not count up to and on the day `until`, and why."""

    id: str
    reason: str
    until: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The settings of a policy or of one of its profiles; None is not set."""

    require: tuple[Component, ...] | None = None
    fail_on: FailOn | None = None
    ignore: tuple[Ignore, ...] | None = None
    expect: tuple[Expectation, ...] | None = None

    def under(self, profile: Section) -> Section:
        """Return these settings, each replaced by that of the profile where it has one."""
        names = ("require", "fail_on", "ignore", "expect")
        told = {name: getattr(profile, name) for name in names}
        return replace(self, **{name: value for name, value in told.items() if value is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A policy file: what holds always, and what the profiles put in its place."""

    base: Section = field(default_factory=Section)
    profiles: Mapping[str, Section] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A policy as it judges on one day. `waived`: what to say of each rule that it ignores."""

    require: tuple[Component, ...] = ()
    fail_on: FailOn = "error"
    facts: tuple[Fact, ...] = ()
    waived: Mapping[str, str] = field(default_factory=dict)

    def waive(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return the findings, those of ignored rules as mere information that says why."""
        return tuple(
            _waived(finding, self.waived[finding.id]) if finding.id in self.waived else finding
            for finding in findings
        )


def _waived(finding: Finding, note: str) -> Finding:
    detail = f"{finding.detail} {note}" if finding.detail else note
    return finding._replace(severity="info", detail=detail)


def rule_on(section: Section, *, today: date, file: str, profile: str | None) -> Ruling:
    """Return what a policy comes to on a day. `file`: its name as a report may show it."""
    holding = [item for item in section.ignore or () if item.until >= today]
    expired = [item for item in section.ignore or () if item.until < today]
    texts = {
        "policy.expect": [item.text for item in section.expect or ()],
        "policy.ignored": [f"{item.id} until {item.until}: {item.reason}" for item in holding],
        "policy.expired": [f"{item.id} (until {item.until}): {item.reason}" for item in expired],
    }
    return Ruling(
        require=section.require or (),
        fail_on=section.fail_on or "error",
        facts=(
            known("policy.file", file, file),
            known_or_absent("policy.profile", profile, file),
            *(known_or_absent(path, value or None, file) for path, value in texts.items()),
        ),
        waived={item.id: _note(item, file) for item in holding},
    )


def _note(item: Ignore, file: str) -> str:
    return f"Ignored by the policy {file} until {item.until}: {item.reason}"
