"""`flashdoctor smoke`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from flashdoctor.cli import options
from flashdoctor.cli.output import Outcome, read_style
from flashdoctor.cli.parsing import new_app
from flashdoctor.cli.reports import ReportCommand, Request, only, outcome, requests
from flashdoctor.errors import InputError, UsageError
from flashdoctor.render.context import Context

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flashdoctor.model.rule import Component
    from flashdoctor.model.smoke import Case, SmokeReport
    from flashdoctor.smoke.plan import SmokePlan

Cases = Annotated[
    list[str] | None,
    typer.Option(
        "--case",
        metavar="NAME",
        show_default=False,
        help="Run only this case, or all that begin so: sdpa-flash, flash-attn, vllm, ...",
    ),
]
List = Annotated[bool, typer.Option("--list", help="List the cases and run nothing.")]
Classify = Annotated[
    str | None,
    typer.Option(
        "--classify",
        metavar="FILE|-",
        show_default=False,
        help="Name the families of the kernel names in a file, one a line, and run nothing.",
    ),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="NAME",
        show_default=False,
        help="What must be proven: sdpa, flash-attn, fa3, fa4, vllm, transformers.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="DIR",
        show_default=False,
        help="Take this model's config.json, cut to two layers, for transformers and vLLM.",
    ),
]
Trust = Annotated[
    bool, typer.Option("--trust-remote-code", help="Let the model of --model run its own code.")
]
Compile = Annotated[
    bool,
    typer.Option(
        "--compile",
        help="Run also what compiles its kernel first, for 10 s and more: flex_attention, FA4, ...",
    ),
]


app = new_app()


@app.command(cls=ReportCommand)
def smoke(  # noqa: PLR0913 - one parameter is one option
    *,
    python: options.Python = None,
    case: Cases = None,
    require: Require = None,
    compiled: Compile = False,
    list_cases: List = False,
    classify: Classify = None,
    model: Model = None,
    trust_remote_code: Trust = False,
    output_format: options.Formats = None,
    output: options.Outputs = None,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> Outcome:
    """Run attention on the GPU and prove by name which kernel ran.

    Exit code: 0 proven, 1 something is wrong or not proven, 2 wrong usage, 3 nothing could be.
    """
    asked = requests(output_format, output)
    required = options.components(require or ())
    if verbose and quiet:
        raise UsageError("--verbose and --quiet exclude each other")
    _reject_mixtures(
        classify, list_cases=list_cases, case=case, python=python, require=require,
        compile=compiled, model=model, **{"trust-remote-code": trust_remote_code},
    )  # fmt: skip
    if case and compiled:
        raise UsageError("--case names what is run, so --compile means nothing")
    if classify is not None:
        return _classified(classify, only(asked, "--classify"))

    from flashdoctor import pipeline

    settings = _settings(model, trust=trust_remote_code)
    plan = pipeline.plan_smoke(python)
    if list_cases:
        return _listed(_named(plan, case) if case else plan.cases, only(asked, "--list"))
    report = _run(plan, case, required, settings, compiled=compiled, quiet=quiet)
    return outcome(asked, report, Context(command="smoke"), verbose=verbose, quiet=quiet)


def _reject_mixtures(classify: str | None, *, list_cases: bool, **others: Any) -> None:
    given = [f"--{name}" for name, value in others.items() if value]
    if classify is not None and (given or list_cases):
        others_given = ["--list"] * list_cases + given
        raise UsageError(f"--classify runs nothing, so {', '.join(others_given)} means nothing")


def _settings(model: str | None, *, trust: bool) -> dict[str, Any]:
    """Return what the agent is told besides the cases."""
    if model is None:
        if trust:
            raise UsageError("--trust-remote-code is about --model", hint="--model DIR")
        return {}
    config = Path(model) / "config.json"
    if not config.is_file():
        raise UsageError(f"--model: there is no {config}", hint="the folder of a model")
    return {"model_dir": str(config.parent.absolute()), "trust_remote_code": trust}


def _run(  # noqa: PLR0913 - what to run, and how
    plan: SmokePlan,
    names: list[str] | None,
    required: Sequence[str],
    settings: dict[str, Any],
    *,
    compiled: bool,
    quiet: bool,
) -> SmokeReport:
    from flashdoctor import pipeline
    from flashdoctor.cli.progress import Progress
    from flashdoctor.smoke.plan import left_out, whole

    chosen = whole(plan.cases, cast("Sequence[Component]", required), compiled=compiled)
    cases = _named(plan, names) if names else chosen
    progress = Progress(quiet=quiet)
    try:
        return pipeline.smoke(
            plan,
            cases,
            required=cast("Sequence[Component]", required),
            left_out=() if names else left_out(plan.cases, cases),
            options=settings,
            progress=progress,
        )
    finally:
        progress.clear()


def _named(plan: SmokePlan, names: list[str]) -> tuple[Case, ...]:
    from flashdoctor.smoke.plan import named

    chosen, lost = named(plan.cases, options.split(names))
    if lost:
        known = [case.name for case in plan.cases]
        wrong = "; ".join(f"{word!r}{options.did_you_mean(word, known)}" for word in lost)
        raise UsageError(f"--case: no case {wrong}", hint="flashdoctor smoke --list")
    if not chosen:
        raise UsageError("--case names no case", hint="flashdoctor smoke --list")
    return chosen


def _listed(cases: Sequence[Case], one: Request) -> Outcome:
    from flashdoctor.render import smoke_list

    if one.format == "json":
        from flashdoctor.render.json_v1 import dump

        return Outcome(dump(smoke_list.to_json(cases)), output=one.output)
    return Outcome(smoke_list.list_text(cases, read_style(one.output)), output=one.output)


def _classified(source: str, one: Request) -> Outcome:
    from flashdoctor import pipeline
    from flashdoctor.smoke.classify import classify

    tables = pipeline.tables()
    names = _read_names(source)
    rows = [{"kernel": name, "family": classify(tables, name)} for name in names]
    if one.format == "json":
        from flashdoctor.render.json_v1 import dump

        return Outcome(dump(rows), output=one.output)
    from flashdoctor.render.smoke_list import classified_text

    return Outcome(classified_text(rows, read_style(one.output)), output=one.output)


def _read_names(source: str) -> list[str]:
    from flashdoctor import pipeline

    lines = pipeline.read_text(source).splitlines()
    names = [line.strip() for line in lines if line.strip()]
    if not names:
        raise InputError(f"{source} holds no kernel name", hint="one name a line")
    return names
