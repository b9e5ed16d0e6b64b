"""Compare two snapshots: what differs, and which difference decides about a finding.

A fact decides where the finding is gone as soon as that fact alone is as on the other side; every
differing fact is tried. Where several of them would each do for the finding, none is decisive
alone, and those among its evidence are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from flashdoctor.model.comparison import Change, Comparison, Elsewhere, FactChange, FindingChange
from flashdoctor.model.facts import Fact
from flashdoctor.model.finding import Finding, Report
from flashdoctor.model.snapshot import Snapshot

Judge: TypeAlias = Callable[[Snapshot], Report]
_Key: TypeAlias = tuple[str, str, str, str]
_Trials: TypeAlias = Mapping[str, frozenset[_Key]]  # by path: what is found with it swapped


def compare(before: Snapshot, after: Snapshot, names: tuple[str, str], judge: Judge) -> Comparison:
    """Judge both and compare them. Both are redacted, and judged by `judge` alike."""
    first, second = judge(before), judge(after)
    stated = list(_differing(before, after))
    changes = list(_changes(first, second))
    kinds = {kind for kind, _ in changes}
    trials = (
        _tried(stated if "vanishes" in kinds else (), before, after, judge),
        _tried(stated if kinds - {"vanishes"} else (), after, before, judge),
    )
    found = tuple(_explained(change, trials, first, second, set(stated)) for change in changes)
    return Comparison(
        names=names,
        before=first,
        after=second,
        findings=found,
        facts=tuple(_facts(before, after, first, second, found)),
    )


def _differing(before: Snapshot, after: Snapshot) -> Iterator[str]:
    """Return the paths whose state or value differs; where it was read does not count."""
    for path in sorted({*before.facts, *after.facts}):
        if _meaning(before[path]) != _meaning(after[path]):
            yield path


def _meaning(fact: Fact) -> tuple[str, str]:
    return fact.state, repr(fact.value)  # 1 and True differ, NaN is itself


def _key(finding: Finding) -> _Key:
    return finding.id, finding.outcome, finding.severity, finding.cause


def _keys(report: Report) -> frozenset[_Key]:
    return frozenset(map(_key, report.findings))


def _changes(first: Report, second: Report) -> Iterator[tuple[Change, Finding]]:
    """Return what B has and A has not, then the reverse, in the order of their ranks."""
    mine, theirs = ({item.id: item for item in report.findings} for report in (first, second))
    for finding in second.findings:
        if finding.id not in mine:
            yield "appears", finding
        elif _key(mine[finding.id]) != _key(finding):
            yield "changes", finding
    for finding in first.findings:
        if finding.id not in theirs:
            yield "vanishes", finding


def _tried(paths: Iterable[str], base: Snapshot, other: Snapshot, judge: Judge) -> _Trials:
    """Return what is found in a snapshot with one differing fact as in the other."""
    return {path: _keys(judge(_swapped(base, other, path))) for path in paths}


def _swapped(base: Snapshot, other: Snapshot, path: str) -> Snapshot:
    facts = {name: fact for name, fact in base.facts.items() if name != path}
    if path in other:
        facts[path] = other[path]
    return Snapshot(facts, base.conflicts)


def _explained(
    change: tuple[Change, Finding],
    trials: tuple[_Trials, _Trials],
    first: Report,
    second: Report,
    stated: set[str],
) -> FindingChange:
    kind, finding = change
    here, there = (second, first) if kind != "vanishes" else (first, second)
    tried = trials[1] if kind != "vanishes" else trials[0]
    alone = [path for path, keys in tried.items() if _key(finding) not in keys]
    by = alone or _differing_evidence(finding, here, there, stated)
    other, needs = _elsewhere(finding.id, there)
    return FindingChange(
        change=kind, finding=finding, other=other, needs=needs, by=tuple(by), alone=bool(alone)
    )


def _differing_evidence(
    finding: Finding, here: Report, there: Report, stated: set[str]
) -> list[str]:
    """Return the facts a finding shows that differ, those a snapshot states where there are any."""
    shown = dict.fromkeys(item.fact for item in finding.evidence if item.fact is not None)
    differ = [
        path for path in shown if _meaning(here.snapshot[path]) != _meaning(there.snapshot[path])
    ]
    return [path for path in differ if path in stated] or differ


def _elsewhere(rule_id: str, report: Report) -> tuple[Elsewhere, tuple[str, ...]]:
    for item in report.skipped:
        if item.id == rule_id:
            return "skipped", item.needs
    return ("passed" if rule_id in report.passed else "finding"), ()


def _facts(
    before: Snapshot,
    after: Snapshot,
    first: Report,
    second: Report,
    found: tuple[FindingChange, ...],
) -> Iterator[FactChange]:
    """Return every differing fact, those that matter first; derived ones only where they do."""
    deciding = {path: tuple(c.finding.id for c in found if path in c.by) for path in _named(found)}
    for path, ids in deciding.items():
        derived = path not in before and path not in after
        sides = (first.snapshot, second.snapshot) if derived else (before, after)
        yield FactChange(path, sides[0].facts.get(path), sides[1].facts.get(path), ids, derived)
    for path in _differing(before, after):
        if path not in deciding:
            yield FactChange(path, before.facts.get(path), after.facts.get(path))


def _named(found: Iterable[FindingChange]) -> list[str]:
    return list(dict.fromkeys(path for change in found for path in change.by))
