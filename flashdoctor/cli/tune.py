"""`flashdoctor tune`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from flashdoctor.cli import options
from flashdoctor.cli.output import Outcome, read_style, write_stderr
from flashdoctor.cli.parsing import Command, new_app
from flashdoctor.cli.progress import Progress
from flashdoctor.errors import UsageError

if TYPE_CHECKING:
    from flashdoctor.model.snapshot import Snapshot
    from flashdoctor.model.tuning import TuneReport
    from flashdoctor.render.style import Style
    from flashdoctor.tune.emit import Launch

_DIGITS = 8
GOALS = ("throughput", "latency", "long-context")
FORMATS = ("terminal", "json", "html", "markdown")
FORMS = ("shell", "docker", "compose", "kubernetes", "systemd")

Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        show_default=False,
        help="A model's folder, its config.json, or a name that was downloaded before.",
    ),
]
SnapshotFile = Annotated[
    str | None,
    typer.Option(
        "--snapshot", metavar="FILE|-", show_default=False, help="Plan for a recorded machine."
    ),
]
Assume = Annotated[
    list[str] | None,
    typer.Option(
        "--assume",
        metavar="KEY=VALUE",
        show_default=False,
        help="Plan for assumed facts: gpu='RTX 4090', gpu_count=2, gpu_memory_gib=24, vllm=0.25.1.",
    ),
]
EngineVersion = Annotated[
    str | None,
    typer.Option(
        "--engine-version",
        metavar="V",
        show_default=False,
        help="The release of vLLM [default: the installed one, else the newest known].",
    ),
]
GoalOption = Annotated[
    str,
    typer.Option(
        "--goal",
        metavar="NAME",
        show_default=False,
        help="throughput, latency or long-context [default: throughput].",
    ),
]
MaxModelLen = Annotated[
    str | None,
    typer.Option(
        "--max-model-len",
        metavar="N",
        show_default=False,
        help="The context that must fit, in tokens [default: the model's own, or what fits].",
    ),
]
Pins = Annotated[
    list[str] | None,
    typer.Option(
        "--pin",
        metavar="FLAG[=VALUE]",
        show_default=False,
        help="Hold a flag of vLLM as given and plan around it: gpu-memory-utilization=0.5, ...",
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="fp8-kv",
        show_default=False,
        help="Choose this although it changes outputs slightly.",
    ),
]
Emit = Annotated[
    str | None,
    typer.Option(
        "--emit",
        metavar="FORM",
        show_default=False,
        help="Print only the launch: shell, docker, compose, kubernetes or systemd.",
    ),
]
Requests = Annotated[
    str | None,
    typer.Option(
        "--workload",
        metavar="REQUESTSxINxOUT",
        show_default=False,
        help="What is served: requests, tokens in and out [default: 1024x1024x256].",
    ),
]
Measure = Annotated[
    bool,
    typer.Option(
        "--measure",
        help="Start the engine with the defaults, the choice and its neighbours, and time them.",
    ),
]
Minutes = Annotated[
    str | None,
    typer.Option(
        "--minutes",
        metavar="N",
        show_default=False,
        help="With --measure: try a neighbour only if it should end by then [default: all trials].",
    ),
]
Prompts = Annotated[
    str | None,
    typer.Option(
        "--prompts",
        metavar="FILE",
        show_default=False,
        help="With --measure: take these prompts, one a line, in place of random tokens.",
    ),
]
Logs = Annotated[
    str,
    typer.Option(
        "--logs",
        metavar="DIR",
        show_default=False,
        help="With --measure: where the engines' logs are kept [default: flashdoctor-trials].",
    ),
]

Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="NAME",
        show_default=False,
        help="terminal, json, html or markdown [default: terminal].",
    ),
]

app = new_app()


@app.command(cls=Command)
def tune(  # noqa: PLR0913 - one parameter is one option
    model: Model,
    *,
    python: options.Python = None,
    snapshot: SnapshotFile = None,
    assume: Assume = None,
    engine_version: EngineVersion = None,
    goal: GoalOption = "throughput",
    max_model_len: MaxModelLen = None,
    pin: Pins = None,
    allow: Allow = None,
    workload: Requests = None,
    emit: Emit = None,
    measure: Measure = False,
    minutes: Minutes = None,
    prompts: Prompts = None,
    logs: Logs = "flashdoctor-trials",
    output_format: Format = "terminal",
    output: options.Output = None,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> Outcome:
    """Choose vLLM's launch flags for a model and GPU.

    Exit code: 0 it fits, 1 it does not or something is wrong with it, 2 wrong usage, 3 no GPU or no
    model that could be read.
    """
    options.one_of("--format", output_format, FORMATS)
    options.one_of("--goal", goal, GOALS)
    if emit is not None:
        options.one_of("--emit", emit, FORMS)
    _reject_mixtures(python, snapshot, assume, emit, output_format, verbose=verbose, quiet=quiet)
    asked = _options(max_model_len, pin, allow, workload)
    elsewhere = snapshot is not None or assume is not None
    progress = Progress(quiet=quiet)
    trial = None
    if measure:
        trial = {**_trial(minutes, prompts, elsewhere=elsewhere), "progress": progress}
    elif minutes is not None or prompts is not None:
        raise UsageError("--minutes and --prompts go with --measure")

    from flashdoctor import planning

    if trial is not None:
        trial["place"] = planning.trial_place(model, python, logs)
    try:
        report, launch = planning.tune(
            model,
            _facts(python, snapshot, assume),
            version=engine_version,
            goal=goal,
            options=asked,
            trial=trial,
        )
    finally:
        progress.clear()
    if emit is not None:
        return _emitted(emit, report, launch, output)
    style = read_style(output, verbose=verbose, quiet=quiet)
    text = _written(output_format, report, launch, style)
    return Outcome(text=text, exit_code=report.exit_code, output=output)


def _written(name: str, report: TuneReport, launch: Launch, style: Style) -> str:
    """Return the report in a format of FORMATS."""
    if name == "json":
        from flashdoctor.render.json_v1 import dump

        return dump(report.to_json())
    if name == "html":
        from flashdoctor.render.html_tune import render_tune_html

        return render_tune_html(report, _every_form(report, launch))
    if name == "markdown":
        from flashdoctor.render.markdown_tune import render_tune_markdown

        return render_tune_markdown(report)
    from flashdoctor.render.tune_text import render_tune

    return render_tune(report, style)


def _every_form(report: TuneReport, launch: Launch) -> dict[str, str]:
    """Return the launch in each form; none where it does not fit."""
    from flashdoctor.tune.emit import emit

    return {form: emit(form, launch) for form in FORMS} if report.fits else {}


def _emitted(form: str, report: TuneReport, launch: Launch, output: str | None) -> Outcome:
    """Return the launch alone; nothing on standard output where it does not fit."""
    if not report.fits:
        write_stderr(
            "flashdoctor: it does not fit, so there is nothing to emit (leave --emit out)\n"
        )
        return Outcome(text="", exit_code=report.exit_code)
    from flashdoctor.tune.emit import emit

    return Outcome(text=emit(form, launch), exit_code=report.exit_code, output=output)


def _reject_mixtures(  # noqa: PLR0913 - every option that goes with few others
    python: str | None,
    snapshot: str | None,
    assume: list[str] | None,
    emit: str | None,
    output_format: str,
    *,
    verbose: bool,
    quiet: bool,
) -> None:
    stated = {"--python": python, "--snapshot": snapshot, "--assume": assume}
    given = [name for name, value in stated.items() if value is not None]
    if len(given) > 1:
        raise UsageError(
            f"{' and '.join(given)} exclude each other",
            hint="facts come from this machine, from a snapshot or from assumptions",
        )
    if verbose and quiet:
        raise UsageError("--verbose and --quiet exclude each other")
    if emit is not None and (output_format != "terminal" or verbose or quiet):
        raise UsageError("--emit prints the launch itself, so --format, --verbose, --quiet go not")


def _trial(minutes: str | None, prompts: str | None, *, elsewhere: bool) -> dict[str, Any]:
    """Return what `flashdoctor.measure.measure` is told; `elsewhere`: the facts are not ours."""
    if elsewhere:
        raise UsageError("--measure runs on this machine, so --assume and --snapshot go not")
    return {
        "minutes": None if minutes is None else _minutes(minutes),
        "prompts": () if prompts is None else _prompts(prompts),
    }


def _minutes(text: str) -> float:
    if not (_is_count(text) or _is_count(text.replace(".", "", 1))):
        raise UsageError(f"--minutes takes a number, not {text!r}")
    return float(text)


def _prompts(file: str) -> list[str]:
    from flashdoctor import pipeline

    lines = [line for line in pipeline.read_text(file).splitlines() if line.strip()]
    if not lines:
        raise UsageError(f"--prompts: {file} holds no line")
    return lines


def _options(
    max_model_len: str | None,
    pins: list[str] | None,
    allow: list[str] | None,
    workload: str | None,
) -> dict[str, Any]:
    """Return what is asked besides model, machine, release and goal."""
    return {
        "max_model_len": None if max_model_len is None else _length(max_model_len),
        "pins": pins or (),
        "allow": options.split(allow or ()),
        "workload": None if workload is None else _workload(workload),
    }


def _length(text: str) -> int:
    from flashdoctor.logs.command_line import read_quantity

    number = read_quantity(text)
    if not number:
        raise UsageError(f"--max-model-len takes a number of tokens, not {text!r}")
    return number


def _workload(text: str) -> Any:
    from flashdoctor.tune.plan import Workload

    parts = text.lower().split("x")
    if len(parts) != len(Workload._fields) or not all(_is_count(part) for part in parts):
        raise UsageError(f"--workload takes three numbers such as 1024x1024x256, not {text!r}")
    return Workload(*map(int, parts))


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS and int(text) > 0


def _facts(python: str | None, snapshot: str | None, assume: list[str] | None) -> Snapshot:
    from flashdoctor import pipeline

    if assume is not None:
        return pipeline.assume(assume)
    if snapshot is not None:
        return pipeline.load_snapshot(snapshot)
    return pipeline.collect(python, "off")
