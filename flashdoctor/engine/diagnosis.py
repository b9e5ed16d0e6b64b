"""From what a paste gave to its causes, ranked: signatures and rules over the same facts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flashdoctor.data.tables import Tables
from flashdoctor.engine import runner
from flashdoctor.engine.asked import asked_for
from flashdoctor.engine.candidates import Basis, weigh_all
from flashdoctor.engine.claims import carried
from flashdoctor.engine.derive import derive
from flashdoctor.engine.matching import counts
from flashdoctor.engine.questions import ask, what_to_paste
from flashdoctor.engine.suspects import order
from flashdoctor.engine.verdict import CORE, FailOn, decide
from flashdoctor.engine.view import View
from flashdoctor.model.finding import Finding, Report, Skipped
from flashdoctor.model.log import MENTION, Cause, Match, Reading
from flashdoctor.model.rule import Component, Rule
from flashdoctor.model.snapshot import Snapshot

_HEALTH = ("torch.version", "driver.version", "vllm.version", "gpu.name", "gpu.compute_capability")
"""One of these must have been reported before a text without faults is a healthy stack."""

_FINE_WITHOUT_GPU = frozenset({"torch-cpu-only-wheel"})
_GPU = ("gpu.name", "gpu.count", "gpu.compute_capability", "driver.version", "launch.gpus")
"""Any of these shows that a GPU is there, or is to be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What a diagnosis is made with: the tables, the rules that were chosen, and the causes."""

    tables: Tables
    rules: Sequence[Rule]
    causes: Mapping[str, Cause]


def diagnose(
    reading: Reading,
    knowledge: Knowledge,
    *,
    required: frozenset[Component] = frozenset(),
    fail_on: FailOn = "error",
) -> Report:
    """Judge one paste. The same reading always gives the same report.

    What the text itself asks for counts as required, beside `required`.
    """
    facts = derive(reading.snapshot, knowledge.tables)
    needed = required | asked_for(facts)
    results = runner.run(knowledge.rules, View(facts, knowledge.tables, needed))
    failed = [_eased(item, facts, needed) for item in results.findings if item.outcome == "fail"]
    basis = Basis(
        reading=reading,
        facts=facts,
        causes=knowledge.causes,
        rules={rule.id: rule for rule in knowledge.rules},
        failed={item.id: item.cause for item in failed},
    )
    matches = [match for match in reading.matches if counts(match, facts, needed)]
    ranked = order(weigh_all(matches, failed, basis))
    findings = (*(item.finding for item in ranked), *_crashes(results.findings, len(ranked)))
    missing = _missing(reading, matches, facts)
    verdict, exit_code = decide(findings, missing, fail_on)
    undetermined = verdict == "undetermined"
    return Report(
        verdict=verdict,
        exit_code=exit_code,
        snapshot=facts,
        findings=findings,
        skipped=(*results.skipped, *_unread(reading)),
        passed=tuple(rule.id for rule in results.passed),
        required=tuple(sorted(needed)),
        missing=missing if undetermined else (),
        matrix_date=knowledge.tables.date,
        ask=ask(ranked, reading.kinds, facts) or (what_to_paste(facts) if undetermined else ()),
        folklore=carried(findings, facts, knowledge.tables),
    )


def _eased(finding: Finding, facts: Snapshot, needed: frozenset[Component]) -> Finding:
    """Make what is wrong only beside a GPU a warning where the text shows and asks for none."""
    if finding.cause not in _FINE_WITHOUT_GPU or finding.severity != "error":
        return finding
    if needed or any(facts[path].is_known for path in _GPU):
        return finding
    return finding._replace(severity="warning")


def _crashes(findings: Sequence[Finding], after: int) -> list[Finding]:
    """Return rules that crashed, as warnings at the end: they say nothing about the paste."""
    crashed = [item for item in findings if item.outcome == "crash"]
    return [
        item._replace(severity="warning", rank=rank)
        for rank, item in enumerate(crashed, start=after + 1)
    ]


def _unread(reading: Reading) -> list[Skipped]:
    return [Skipped(id="parser", needs=(), reason=reason) for reason in reading.crashed]


def _missing(reading: Reading, matches: Sequence[Match], facts: Snapshot) -> tuple[str, ...]:
    """Return what a text without faults would have to show; empty where it shows enough."""
    if any(match.signature.cause for match in matches):
        return ()
    if any(reading.trust.get(path, 0) > MENTION for path in _HEALTH):
        return ()
    return tuple(path for path in CORE if not facts[path].is_known) or CORE
