"""The use cases, wired: collect or read facts, judge them, hand back a report.

The engine is imported where it is used: `collect` starts the target's interpreter first, and the
rest is imported while that is at work.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from flashdoctor.errors import InputError, UsageError
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.snapshot import Snapshot

if TYPE_CHECKING:
    from flashdoctor.data.tables import Tables
    from flashdoctor.engine.verdict import FailOn
    from flashdoctor.measure import Place
    from flashdoctor.model.facts import Fact
    from flashdoctor.model.finding import Report
    from flashdoctor.model.lint import Launched, LintFinding, LintReport
    from flashdoctor.model.llm import Model
    from flashdoctor.model.log import Line, Reading, Signature
    from flashdoctor.model.plan import Emit, Installer, Resolution
    from flashdoctor.model.rule import Component, Rule
    from flashdoctor.model.smoke import Case, SmokeReport
    from flashdoctor.model.trial import Measured
    from flashdoctor.model.tuning import TuneReport
    from flashdoctor.smoke.plan import SmokePlan
    from flashdoctor.smoke.run import Progress
    from flashdoctor.tune.emit import Launch
    from flashdoctor.tune.forms import Command
    from flashdoctor.tune.plan import Request
    from flashdoctor.tune.words import Word
    from flashdoctor.vllm_sources import Installed

Smoke: TypeAlias = Literal["auto", "on", "off"]

EXAMPLES = Path(__file__).resolve().parent / "examples"
EXAMPLE_PREFIX = "example:"
MODEL_RULES = ("FD64", "FD65")
"""The rules that judge a model beside the machine that is to run it."""

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
    done = judge_cases(cases, run, tables())
    proof = snapshots.of(smoke_facts(done, run))
    told = snapshots.merge(proof, Snapshot({f.path: f for f in plan.facts if f.path not in proof}))
    judged = judge_snapshot(_redacted(told), required=required)
    return compose(done, run, judged, left_out)


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
    return data.decode("utf-8-sig", errors="replace")


def _read_example(name: str) -> str:
    for file in _example_files():
        if file.stem == name:
            return file.read_text(encoding="utf-8")
    names = ", ".join(file.stem for file in _example_files())
    raise UsageError(f"no example is called {name!r}", hint=f"examples: {names}")


def _example_files() -> list[Path]:
    return sorted(EXAMPLES.glob("*.json"))


def example_names() -> list[tuple[str, str]]:
    """Return the name and the one-line description of each recorded machine."""
    return [
        (file.stem, str(json.loads(file.read_text(encoding="utf-8"))["description"]))
        for file in _example_files()
    ]


def judge_snapshot(
    snapshot: Snapshot,
    *,
    required: Iterable[Component] = (),
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    fail_on: FailOn = "error",
) -> Report:
    """Judge a snapshot. The same snapshot and options always give the same report.

    `select` and `ignore` hold rule ids, names or id prefixes that the caller has checked.
    """
    from flashdoctor import __version__
    from flashdoctor.engine import ranking, runner, verdict
    from flashdoctor.engine.derive import derive
    from flashdoctor.engine.view import View
    from flashdoctor.model.finding import Report

    loaded = tables()
    chosen = [rule for rule in rules() if _is_chosen(rule, select, ignore)]
    needed = frozenset(required)
    view = View(derive(snapshot, loaded), loaded, needed)
    results = runner.run(chosen, view)
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


def resolve(
    snapshot: Snapshot,
    *,
    wants: Iterable[str] = (),
    keep: Iterable[str] = (),
    installer: Installer = "pip",
    emits: Emit | None = None,
) -> Resolution:
    """Plan releases that go together on a snapshot's machine.

    `wants` and `keep` hold names as a user writes them: `vllm`, `flash-attn==2.8.3`. No wants: what
    is installed.
    """
    from dataclasses import replace

    from flashdoctor import __version__
    from flashdoctor.resolve import planner
    from flashdoctor.resolve.wants import parse_names, parse_wants

    loaded = tables()
    found = planner.resolve(
        snapshot,
        loaded,
        rules(),
        wants=parse_wants(wants),
        keep=parse_names("--keep", keep),
        installer=installer,
        emits=emits,
    )
    tool = {"name": "flashdoctor", "version": __version__}
    return replace(found, matrix_date=loaded.date, tool=tool)


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
        rules=[rule for rule in rules() if _is_chosen(rule, select, ignore)],
        causes=loaded.derived("causes", load_causes),
    )
    report = diagnosis.diagnose(
        replace(reading, matches=tuple(chosen)),
        knowledge,
        required=frozenset(required),
        fail_on=fail_on,
    )
    return replace(report, tool={"name": "flashdoctor", "version": __version__})


def lint(  # noqa: PLR0913 - what to judge, by what, and from when on it fails
    text: str,
    *,
    engine_version: str | None = None,
    facts: Snapshot | None = None,
    installed: Installed | None = None,
    model: Model | None = None,
    yaml: bool | None = None,
    folder: Path | None = None,
    fail_on: FailOn = "error",
) -> LintReport:
    """Judge each launch of a vLLM server in a text by the release that is to run it.

    That is `engine_version`, or the vLLM of `facts`, or the `installed` one, or what the tag of an
    image says, or the newest that is known. A --config file is looked up in `folder`. With a
    `model` and a GPU among the facts, it says as well whether that fits.
    """
    from flashdoctor import __version__
    from flashdoctor.engine.derive import derive
    from flashdoctor.model.lint import LintReport
    from flashdoctor.tune import lint as linting
    from flashdoctor.tune.forms import read_commands

    loaded = tables()
    known = derive(facts or Snapshot(), loaded)
    commands = read_commands(text, yaml=yaml)
    if not commands:
        raise InputError(
            "no launch of a vLLM server in this text",
            hint="`vllm serve MODEL ...`, its module, docker run, Kubernetes and compose are read",
        )
    launches: list[Launched] = []
    findings: list[LintFinding] = []
    for command in commands:
        named = linting.named_release(engine_version, known, installed)
        chosen = linting.choose_release(command, named, loaded)
        table = linting.table_for(chosen, loaded, installed)
        whole = _with_config(command, folder)
        launches.append(linting.launched(command, chosen, table))
        findings += linting.lint_context(linting.context_of(whole, table, loaded, known), model)
    ranked = linting.ranked(findings)
    verdict, exit_code = linting.decide(ranked, fail_on)
    return LintReport(
        verdict=verdict,
        exit_code=exit_code,
        launches=tuple(launches),
        findings=ranked,
        matrix_date=loaded.date,
        tool={"name": "flashdoctor", "version": __version__},
    )


def _with_config(command: Command, folder: Path | None) -> Command:
    """Return a launch with the flags of its --config file before its own, if that file is here."""
    from dataclasses import replace

    from flashdoctor.tune.argv import config_file

    name = config_file(command.words)
    words: tuple[Word, ...] = ()
    if name is not None and (folder or Path()).joinpath(name).is_file():
        from flashdoctor.tune.forms import read_config

        words = read_config(read_text(str((folder or Path()) / name)), name)
    return replace(command, words=(*words, *command.words))


def tune(  # noqa: PLR0913 - what is planned, for what, and what else is to be done
    model: str,
    snapshot: Snapshot,
    *,
    version: str | None = None,
    goal: str = "throughput",
    options: Mapping[str, Any] | None = None,
    trial: Mapping[str, Any] | None = None,
) -> tuple[TuneReport, Launch]:
    """Plan a launch of a model folder on the GPUs of a snapshot; also what `--emit` writes down.

    `options` go to `flashdoctor.tune.ask.read_request`, `trial` to `flashdoctor.measure.measure`,
    which tries launches on this machine. `InputError` where no GPU is known.
    """
    from dataclasses import replace

    from flashdoctor import __version__
    from flashdoctor.engine.derive import derive
    from flashdoctor.model_folder import read_model
    from flashdoctor.tune.ask import known_version, read_request
    from flashdoctor.tune.report import launch_of, report

    facts = derive(snapshot, tables())
    told = known_version(facts, version, tables())
    read = read_model(model)
    request = read_request(read, facts, told.version, goal, tables(), **(options or {}))
    measured = _measured(request, trial) if trial else None
    machine = _with_model(snapshot, read.facts, told.version)
    judged = judge_snapshot(machine, required=("vllm",), select=MODEL_RULES)
    served, folder = _place(model)
    planned = report(
        request,
        tables(),
        name=served,
        findings=judged.findings,
        notes=told.notes,
        tool={"name": "flashdoctor", "version": __version__},
    )
    if measured is not None:
        planned = replace(planned, measured=measured)
    return planned, launch_of(planned, folder)


def trial_place(model: str, python: str | None, logs: str) -> Place:
    """Return where launches are tried: that Python, that model's folder, the folder for logs."""
    from flashdoctor.measure import Place
    from flashdoctor.target.choose import choose_python

    folder = _place(model)[1]
    if folder is None:
        raise UsageError(f"--measure needs the folder of a model, and {model} is none")
    return Place(choose_python(python).path, folder, Path(logs).absolute())


def _measured(request: Request, trial: Mapping[str, Any]) -> Measured:
    from flashdoctor.measure import measure
    from flashdoctor.tune.plan import Planner

    planner = Planner(request, tables())
    return measure(planner, planner.decide(), diagnose=_cause_in, **trial)


def _cause_in(log: bytes) -> str:
    """Return the cause that an engine's log shows first."""
    from flashdoctor.logs.lines import read_lines

    found = diagnose(read_lines([log])).findings
    return found[0].cause if found and found[0].severity == "error" else ""


def _place(model: str) -> tuple[str, str | None]:
    """Return a model as a command names it, and its absolute folder where it is one.

    A config.json stands for its folder.
    """
    path = Path(model).expanduser()
    if path.is_file():
        return str(path.parent), str(path.parent.absolute())
    return model, str(path.absolute()) if path.is_dir() else None


def _with_model(snapshot: Snapshot, facts: Iterable[Fact], version: str) -> Snapshot:
    """Return a machine with the facts of a model, and the vLLM that is planned for."""
    from flashdoctor.model.facts import known

    planned = snapshots.of([*facts, known("vllm.version", version, "--engine-version")])
    return Snapshot({**snapshot.facts, **planned.facts})


def _redacted_reading(reading: Reading) -> Reading:
    from dataclasses import replace

    matches = (replace(match, facts=_redacted(match.facts)) for match in reading.matches)
    return replace(reading, snapshot=_redacted(reading.snapshot), matches=tuple(matches))


def _is_chosen(rule: Rule | Signature, select: Iterable[str], ignore: Iterable[str]) -> bool:
    selected = list(select)
    return (not selected or _matches(rule, selected)) and not _matches(rule, ignore)


def _matches(rule: Rule | Signature, patterns: Iterable[str]) -> bool:
    return any(rule.name == pattern or rule.id.startswith(pattern) for pattern in patterns)
