"""The use cases that plan: an installation, a launch, and the judgement of a launch; wired."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashdoctor import pipeline
from flashdoctor.errors import InputError, UsageError
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.snapshot import Snapshot

if TYPE_CHECKING:
    from flashdoctor.data.tables import Tables
    from flashdoctor.engine.verdict import FailOn
    from flashdoctor.measure import Place
    from flashdoctor.model.claim import Claim
    from flashdoctor.model.facts import Fact
    from flashdoctor.model.lint import Launched, LintFinding, LintReport
    from flashdoctor.model.llm import Model
    from flashdoctor.model.plan import Emit, Installer, Resolution
    from flashdoctor.model.rule import Rule
    from flashdoctor.model.trial import Measured
    from flashdoctor.model.tuning import TuneReport
    from flashdoctor.resolve.wants import Want
    from flashdoctor.tune.emit import Launch
    from flashdoctor.tune.forms import Command
    from flashdoctor.tune.lint_findings import Context
    from flashdoctor.tune.plan import Request
    from flashdoctor.tune.words import Word
    from flashdoctor.vllm_sources import Installed

MODEL_RULES = ("FD64", "FD65")
"""The rules that judge a model beside the machine that is to run it."""


def launch_rules() -> tuple[Rule, ...]:
    """Return what `lint` and `tune` judge themselves, as rules to be listed and explained."""
    from flashdoctor.tune.kinds import as_rules

    return as_rules()


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

    loaded = pipeline.tables()
    asked = parse_wants(wants)
    found = planner.resolve(
        snapshot,
        loaded,
        pipeline.rules(),
        wants=asked,
        keep=parse_names("--keep", keep),
        installer=installer,
        emits=emits,
    )
    tool = {"name": "flashdoctor", "version": __version__}
    claims = _claims_behind(asked, snapshot, loaded)
    return replace(found, matrix_date=loaded.date, tool=tool, folklore=claims)


def _claims_behind(wants: Iterable[Want], snapshot: Snapshot, loaded: Tables) -> tuple[Claim, ...]:
    """Return the claims that a wish stands upon: what was asked for, on each GPU that is there."""
    from flashdoctor.data.folklore import about_plan
    from flashdoctor.engine.derive import derive
    from flashdoctor.engine.view import MissingFactError, View

    asked = [str(want) for want in wants]
    try:
        devices = View(derive(snapshot, loaded), loaded).devices() if asked else []
    except MissingFactError:
        devices = [{}] if asked else []
    found = (
        claim
        for device in devices
        for claim in about_plan(
            loaded, asked, device.get("name") or "", device.get("compute_capability")
        )
    )
    return tuple(dict.fromkeys(found))


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
    `model`, or a launch whose model is a folder here, that is judged too, and with a GPU among the
    facts it is said whether it fits.
    """
    from flashdoctor import __version__
    from flashdoctor.engine.derive import derive
    from flashdoctor.model.lint import LintReport
    from flashdoctor.tune import lint as linting

    loaded = pipeline.tables()
    known = derive(facts or Snapshot(), loaded)
    launches: list[Launched] = []
    findings: list[LintFinding] = []
    for command in _commands_in(text, yaml=yaml):
        named = linting.named_release(engine_version, known, installed)
        chosen = linting.choose_release(command, named, loaded)
        table = linting.table_for(chosen, loaded, installed)
        whole = _with_config(command, folder)
        launches.append(linting.launched(command, chosen, table))
        context = linting.context_of(whole, table, loaded, known)
        served = model or _model_here(context, folder)
        findings += linting.lint_context(context, served)
        findings += _of_the_model(context, known, served)
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


def _commands_in(text: str, *, yaml: bool | None) -> list[Command]:
    from flashdoctor.tune.forms import read_commands

    commands = read_commands(text, yaml=yaml)
    if not commands:
        raise InputError(
            "no launch of a vLLM server in this text",
            hint="`vllm serve MODEL ...`, its module, docker run, Kubernetes and compose are read",
        )
    return commands


def _model_here(context: Context, folder: Path | None) -> Model | None:
    """Return the model of a launch where it is a folder of this machine that can be read."""
    from flashdoctor.model_folder import CONFIG, read_model
    from flashdoctor.tune.lint_model import model_word

    word = model_word(context)
    if not word or "\0" in word:
        return None
    for path in dict.fromkeys((Path(word).expanduser(), (folder or Path()) / word)):
        try:
            if (path / CONFIG).is_file():
                return read_model(str(path))
        except (InputError, UsageError, OSError):
            return None
    return None


def _of_the_model(
    context: Context, machine: Snapshot, model: Model | None
) -> Iterator[LintFinding]:
    """Yield what the rules on models say of a launch; without a model, of its --quantization."""
    from flashdoctor.tune.lint_model import about_model, facts_of_launch

    stated = snapshots.of(facts_of_launch(context, model))
    if not stated["model.quantization"].is_known and model is None:
        return
    judged = pipeline.judge_snapshot(
        Snapshot({**machine.facts, **stated.facts}), required=("vllm",), select=MODEL_RULES
    )
    yield from about_model(judged.findings, context, model)


def _with_config(command: Command, folder: Path | None) -> Command:
    """Return a launch with the flags of its --config file before its own, if that file is here."""
    from dataclasses import replace

    from flashdoctor.tune.argv import config_file

    name = config_file(command.words)
    words: tuple[Word, ...] = ()
    if name is not None and (folder or Path()).joinpath(name).is_file():
        from flashdoctor.tune.forms import read_config

        words = read_config(pipeline.read_text(str((folder or Path()) / name)), name)
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
    from flashdoctor.tune.lint_model import facts_of_pins
    from flashdoctor.tune.report import launch_of, report

    facts = derive(snapshot, pipeline.tables())
    told = known_version(facts, version, pipeline.tables())
    read = read_model(model)
    request = read_request(read, facts, told.version, goal, pipeline.tables(), **(options or {}))
    measured = _measured(request, trial) if trial else None
    stated = (*read.facts, *facts_of_pins(request.pins.values()))
    machine = _with_model(snapshot, stated, told.version)
    judged = pipeline.judge_snapshot(machine, required=("vllm",), select=MODEL_RULES)
    served, folder = _place(model)
    planned = report(
        request,
        pipeline.tables(),
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

    planner = Planner(request, pipeline.tables())
    return measure(planner, planner.decide(), diagnose=_cause_in, **trial)


def _cause_in(log: bytes) -> str:
    """Return the cause that an engine's log shows first."""
    from flashdoctor.logs.lines import read_lines

    found = pipeline.diagnose(read_lines([log])).findings
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
