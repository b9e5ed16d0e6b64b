"""Put the root cause first: what explains a finding stands above it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flashdoctor.model.finding import Finding
from flashdoctor.model.rule import LAYERS, SEVERITIES, Rule


def rank(findings: Iterable[Finding], rules: Mapping[str, Rule]) -> tuple[Finding, ...]:
    """Order findings and number them from 1, the likeliest root cause first.

    A finding follows from the first of its rule's `follows` that failed too and is at least as
    severe. Order: severity, then root causes before what follows from them, then the deeper
    layer, then the rule's number.
    """
    linked = [_link(finding, list(findings), rules) for finding in findings]
    ordered = sorted(linked, key=_position)
    return tuple(finding._replace(rank=place) for place, finding in enumerate(ordered, start=1))


def _link(finding: Finding, others: list[Finding], rules: Mapping[str, Rule]) -> Finding:
    rule = rules.get(finding.id)
    if rule is None or finding.outcome == "crash":
        return finding
    failed = {other.id for other in others if other.outcome == "fail" and _covers(other, finding)}
    cause = next((deeper for deeper in rule.follows if deeper in failed), None)
    return finding._replace(follows=cause)


def _covers(deeper: Finding, finding: Finding) -> bool:
    return SEVERITIES.index(deeper.severity) <= SEVERITIES.index(finding.severity)


def _position(finding: Finding) -> tuple[int, int, bool, int, str]:
    return (
        SEVERITIES.index(finding.severity),
        int(finding.outcome == "crash"),
        finding.follows is not None,
        LAYERS.index(finding.layer),
        finding.id,
    )
