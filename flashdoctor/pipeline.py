"""The use cases, wired: collect or read facts, judge them, hand back a report.

The engine is imported where it is used: `collect` starts the target's interpreter first, and the
rest is imported while that is at work.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from flashdoctor.errors import InputError, UsageError
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.snapshot import Snapshot

if TYPE_CHECKING:
    from datetime import date

    from flashdoctor.data.tables import Tables
    from flashdoctor.engine.verdict import FailOn
    from flashdoctor.model.comparison import Comparison
    from flashdoctor.model.finding import Report
    from flashdoctor.model.log import Line, Reading, Signature
    from flashdoctor.model.rule import Component, Rule
    from flashdoctor.model.smoke import Case, SmokeReport
    from flashdoctor.policy.policy import Ruling
    from flashdoctor.smoke.plan import SmokePlan
    from flashdoctor.smoke.run import Progress

Smoke: TypeAlias = Literal["auto", "on", "off"]

EXAMPLE_PREFIX = "example:"
POLICY = "policy.file"
"""The fact that rules about a policy are about."""

NO_POLICY = "none"

MAX_SNAPSHOT_BYTES = 16 * 1024 * 1024


def tables() -> Tables:
    """Return the matrices."""
    from flashdoctor.data.tables import load_tables

    return load_tables()


def rules() -> tuple[Rule, ...]:
    """Return every rule, in id order."""
    from flashdoctor.data.rules import load_rules

    return tables().derived("rules", load_rules)


def signatures() -> tuple[Signature, ...]:
    """Return every signature of pasted text, in id order."""
    from flashdoctor.data.signatures import load_signatures

    return tables().derived("signatures", load_signatures)


def criteria() -> tuple[Rule | Signature, ...]:
    """Return all that a diagnosis judges by: the rules, then the signatures, in id order."""
    return (*rules(), *signatures())


def assume(items: Iterable[str]) -> Snapshot:
    """Return a snapshot of nothing but the assumed facts."""
    from flashdoctor.engine.assume import read_assumptions

    return read_assumptions(items)


def collect(python: str | None, smoke: Smoke, required: Iterable[Component] = ()) -> Snapshot:
    """Look at this machine and the target Python; redacted. Takes a few seconds at most.

    On a GPU, what is `required` is run as well as far as `smoke` allows.
    """
    from flashdoctor.probes.machine import read_machine

    return _redacted(read_machine(python, smoke, os.environ, meanwhile=_warm_up, required=required))


def plan_smoke(python: str | None) -> SmokePlan:
    """Return the cases of this machine and target Python, and what is known about both."""
    from flashdoctor.engine.derive import derive
    from flashdoctor.probes.machine import read_machine
    from flashdoctor.smoke.plan import SmokePlan, plan_cases
    from flashdoctor.target.choose import choose_python

    path = choose_python(python).path
    facts = derive(read_machine(python, "off", os.environ, meanwhile=_warm_up), tables())
    return SmokePlan(python=path, facts=facts, cases=plan_cases(facts))


def smoke(  # noqa: PLR0913 - what to run, how, and what to say of it
    plan: SmokePlan,
    cases: Sequence[Case],
    *,
    required: Iterable[Component] = (),
    left_out: Sequence[Case] = (),
    options: Mapping[str, Any] | None = None,
    progress: Progress,
) -> SmokeReport:
    """Run the cases in the target Python and judge what became of them.

    `left_out`: cases that the report is to name as not run.
    """
    from flashdoctor.smoke.facts import smoke_facts
    from flashdoctor.smoke.report import compose, judge_cases
    from flashdoctor.smoke.run import run_cases

    run = run_cases(plan.python, cases, options=options, progress=progress)
    done = judge_cases(run.cases, run, tables())
    proof = snapshots.of(smoke_facts(done, run))
    told = snapshots.merge(proof, Snapshot({f.path: f for f in plan.facts if f.path not in proof}))
    judged = judge_snapshot(_redacted(told), required=required)
    ended = {case.name for case in run.cases}
    return compose(done, run, judged, [*left_out, *(c for c in cases if c.name not in ended)])


def _warm_up() -> None:
    from flashdoctor.engine.runner import load_checks

    load_checks(rules())


def _redacted(snapshot: Snapshot) -> Snapshot:
    from flashdoctor.model.redaction import redact_snapshot

    return redact_snapshot(snapshot)


def load_snapshot(source: str) -> Snapshot:
    """Read a snapshot from a file, from `-` (standard input) or from `example:NAME`."""
    if source.startswith(EXAMPLE_PREFIX):
        text = _read_example(source.removeprefix(EXAMPLE_PREFIX))
    else:
        text = read_text(source)
    try:
        body: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{source} is not JSON: {error}", hint="make one with `flashdoctor snapshot`"
        ) from None
    return _redacted(snapshots.from_json(_snapshot_part(body)))


def without_proof(snapshot: Snapshot) -> Snapshot:
    """Return recorded facts as they are without a smoke test: nothing is proven by them."""
    from flashdoctor.smoke.skipped import not_run

    told = {fact.path: fact for fact in snapshot if not fact.path.startswith("smoke.")}
    told |= {fact.path: fact for fact in not_run("--smoke off")}
    return Snapshot(told, snapshot.conflicts)


def _snapshot_part(body: Any) -> Any:
    """Accept an example file, which wraps the snapshot with a description."""
    if isinstance(body, dict) and "snapshot" in body and "description" in body:
        return body["snapshot"]
    return body


def read_text(source: str) -> str:
    """Read a text of at most 16 MiB from a file or from `-` (standard input)."""
    try:
        if source == "-":
            if sys.stdin is None:
                raise InputError("cannot read -: standard input is closed")
            data = sys.stdin.buffer.read(MAX_SNAPSHOT_BYTES + 1)
        else:
            with Path(source).open("rb") as file:
                data = file.read(MAX_SNAPSHOT_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {source}: {reason}") from None
    if len(data) > MAX_SNAPSHOT_BYTES:
        raise InputError(f"{source} is larger than 16 MiB")
    return data.decode(_encoding(data), errors="replace")


def _encoding(data: bytes) -> str:
    """Return the codec of a text; Windows PowerShell writes UTF-16."""
    if b"\0" not in data:
        return "utf-8-sig"
    from flashdoctor.logs.text import guess_encoding

    return guess_encoding(data[:4096])


def _read_example(name: str) -> str:
    texts = _example_texts()
    if name in texts:
        return texts[name]
    raise UsageError(f"no example is called {name!r}", hint=f"examples: {', '.join(texts)}")


def _example_texts() -> dict[str, str]:
    """Return the text of each recorded machine by its name, from a folder or a zip file."""
    from importlib.resources import files

    found = sorted((files("flashdoctor") / "examples").iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(".json"): file.read_text(encoding="utf-8")
        for file in found
        if file.name.endswith(".json")
    }


def example_names() -> list[tuple[str, str]]:
    """Return the name and the one-line description of each recorded machine."""
    return [(name, str(json.loads(text)["description"])) for name, text in _example_texts().items()]


def read_policy(name: str | None, profile: str | None, today: Callable[[], date]) -> Ruling | None:
    """Return the named policy, or the one that holds in the working directory, as of `today`.

    None where there is none; `NO_POLICY` as a name looks for none. Every mistake in it is in one
    `UsageError`.
    """
    from flashdoctor import policy_file

    if name == NO_POLICY:
        found = None
    elif name is not None:
        found = policy_file.named_policy(name)
    else:
        found = policy_file.find_policy(Path(), Path("~").expanduser())
    if found is None:
        if profile is not None:
            raise UsageError("--profile chooses from a policy, and there is none here")
        return None
    from flashdoctor.policy.parser import choose, parse_policy
    from flashdoctor.policy.policy import rule_on

    section = choose(parse_policy(found.table, rules(), found.file), profile, found.file)
    return rule_on(section, today=today(), file=found.file, profile=profile)


def judge_snapshot(  # noqa: PLR0913 - what to judge, by what, and from when on it fails
    snapshot: Snapshot,
    *,
    required: Iterable[Component] = (),
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    fail_on: FailOn = "error",
    policy: Ruling | None = None,
) -> Report:
    """Judge a snapshot. The same snapshot and options always give the same report.

    `select` and `ignore` hold rule ids, names or id prefixes that the caller has checked. A
    `policy` gives its expectations and ignores; `required` and `fail_on` are the caller's.
    """
    from flashdoctor import __version__
    from flashdoctor.engine import ranking, runner, verdict
    from flashdoctor.engine.derive import derive
    from flashdoctor.engine.view import View
    from flashdoctor.model.finding import Report

    loaded = tables()
    chosen = _chosen_rules(select, ignore, judges_policy=policy is not None)
    needed = frozenset(required)
    view = View(_under(policy, derive(snapshot, loaded)), loaded, needed)
    results = runner.run(chosen, view)
    if policy is not None:
        results = results._replace(findings=policy.waive(results.findings))
    by_id = {rule.id: rule for rule in chosen}
    findings = ranking.rank(results.findings, by_id)
    missing = verdict.missing_facts(view.snapshot, results, by_id, needed)
    answer, exit_code = verdict.decide(findings, missing, fail_on)
    return Report(
        verdict=answer,
        exit_code=exit_code,
        snapshot=view.snapshot,
        findings=findings,
        skipped=results.skipped,
        passed=tuple(rule.id for rule in results.passed),
        required=tuple(sorted(needed)),
        missing=missing if answer == "undetermined" else (),
        matrix_date=loaded.date,
        tool={"name": "flashdoctor", "version": __version__},
    )


def exact_fixes(report: Report, doubted: Collection[str] = ()) -> Report:
    """Return a report whose fixes install just what this machine and its packages need.

    `doubted`: facts that were only mentioned, so that nothing is planned on them. Costs nothing
    where no other release of a package would mend anything.
    """
    if not any(item.fix.package and item.severity != "info" for item in report.findings):
        return report
    from flashdoctor.resolve import fixes

    return fixes.exact_fixes(report, tables(), rules(), doubted)


def diff(
    before: Snapshot,
    after: Snapshot,
    names: tuple[str, str],
    *,
    required: Iterable[Component] = (),
) -> Comparison:
    """Say what differs between two snapshots, and which difference changes what is found."""
    from functools import partial

    from flashdoctor.engine.comparison import compare

    judge = partial(judge_snapshot, required=tuple(required))
    return compare(before, after, names, judge)


def diagnose(
    lines: Iterable[Line],
    *,
    required: Iterable[Component] = (),
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    fail_on: FailOn = "error",
) -> Report:
    """Read one paste and judge it. The same lines and options always give the same report.

    Memory does not grow with the number of lines. `select` and `ignore` hold ids, names or id
    prefixes of rules and signatures.
    """
    from dataclasses import replace

    from flashdoctor import __version__
    from flashdoctor.data.signatures import load_causes
    from flashdoctor.engine import diagnosis
    from flashdoctor.logs.matcher import make_index
    from flashdoctor.logs.parser import load_parsers
    from flashdoctor.logs.scan import scan

    loaded = tables()
    index = loaded.derived("signature index", lambda _: make_index(signatures()))
    reading = _redacted_reading(scan(lines, index=index, parsers=load_parsers()))
    chosen = [match for match in reading.matches if _is_chosen(match.signature, select, ignore)]
    knowledge = diagnosis.Knowledge(
        tables=loaded,
        rules=_chosen_rules(select, ignore),
        causes=loaded.derived("causes", load_causes),
    )
    report = diagnosis.diagnose(
        replace(reading, matches=tuple(chosen)),
        knowledge,
        required=frozenset(required),
        fail_on=fail_on,
    )
    report = exact_fixes(report, _doubted(reading))
    return report._replace(tool={"name": "flashdoctor", "version": __version__})


def _doubted(reading: Reading) -> set[str]:
    """Return the facts that a text only mentions; its tracebacks' own paths are no mere mention."""
    from flashdoctor.logs.parsers.python_paths import PATH_SOURCE
    from flashdoctor.model.log import MENTION

    mentioned = (path for path, trust in reading.trust.items() if trust <= MENTION)
    return {path for path in mentioned if reading.snapshot[path].source != PATH_SOURCE}


def _redacted_reading(reading: Reading) -> Reading:
    from dataclasses import replace

    matches = (replace(match, facts=_redacted(match.facts)) for match in reading.matches)
    return replace(reading, snapshot=_redacted(reading.snapshot), matches=tuple(matches))


def _under(policy: Ruling | None, snapshot: Snapshot) -> Snapshot:
    """Return a snapshot with the facts of this run's policy, and of no other."""
    told = {fact.path: fact for fact in snapshot if not fact.path.startswith("policy.")}
    told |= {fact.path: fact for fact in (policy.facts if policy else ())}
    return Snapshot(told, snapshot.conflicts)


def _chosen_rules(
    select: Iterable[str], ignore: Iterable[str], *, judges_policy: bool = False
) -> list[Rule]:
    """Return what to judge by. Rules about a policy have no say where there is none."""
    chosen = [rule for rule in rules() if _is_chosen(rule, select, ignore)]
    return chosen if judges_policy else [rule for rule in chosen if rule.about != POLICY]


def _is_chosen(rule: Rule | Signature, select: Iterable[str], ignore: Iterable[str]) -> bool:
    selected = list(select)
    return (not selected or _matches(rule, selected)) and not _matches(rule, ignore)


def _matches(rule: Rule | Signature, patterns: Iterable[str]) -> bool:
    return any(rule.name == pattern or rule.id.startswith(pattern) for pattern in patterns)
