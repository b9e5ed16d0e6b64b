"""`flashdoctor lint`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

import typer

from flashdoctor.cli import options
from flashdoctor.cli.output import Outcome
from flashdoctor.cli.parsing import new_app
from flashdoctor.cli.reports import ReportCommand, outcome, requests, source_name
from flashdoctor.errors import UsageError
from flashdoctor.render.context import Context

if TYPE_CHECKING:
    from flashdoctor.engine.verdict import FailOn
    from flashdoctor.model.llm import Model
    from flashdoctor.model.snapshot import Snapshot
    from flashdoctor.vllm_sources import Installed

STDIN = "-"
_YAML = (".yaml", ".yml")
_LONGEST_NAME = 4096

Words = Annotated[
    list[str],
    typer.Argument(
        metavar="COMMAND|FILE|-",
        show_default=False,
        help="A launch command in quotes, or a file that holds one: a script, a unit file, YAML"
        " of Kubernetes, compose or --config. `-` is standard input.",
    ),
]
EngineVersion = Annotated[
    str | None,
    typer.Option(
        "--engine-version",
        metavar="V",
        show_default=False,
        help="The vLLM that is to run it [default: the target's, else the newest known].",
    ),
]
Assume = Annotated[
    list[str] | None,
    typer.Option(
        "--assume",
        metavar="KEY=VALUE",
        show_default=False,
        help="Judge by assumed facts and look at nothing: vllm=0.10.2, gpu='RTX 4090', ...",
    ),
]
SnapshotFile = Annotated[
    str | None,
    typer.Option(
        "--snapshot", metavar="FILE|-", show_default=False, help="Judge by a recorded snapshot."
    ),
]
ModelFolder = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="DIR",
        show_default=False,
        help="The model's folder, where the command names none that is here: say as well what is"
        " wrong with it, and whether it fits on the assumed GPU.",
    ),
]


class _Text(NamedTuple):
    text: str
    yaml: bool | None = None
    folder: Path | None = None
    source: str = ""


app = new_app()


@app.command(cls=ReportCommand)
def lint(  # noqa: PLR0913 - one parameter is one option
    words: Words,
    *,
    engine_version: EngineVersion = None,
    assume: Assume = None,
    snapshot: SnapshotFile = None,
    python: options.Python = None,
    model: ModelFolder = None,
    fail_on: options.FailOn = None,
    output_format: options.Formats = None,
    output: options.Outputs = None,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> Outcome:
    """Check the flags of a vLLM launch command.

    Exit code: 0 nothing at or above --fail-on, 1 something is, 2 wrong usage, 3 no launch found.
    """
    asked = requests(output_format, output)
    fail_on = options.one_of("--fail-on", fail_on or "error", options.FAIL_ON)
    _reject_mixtures(assume, snapshot, python, verbose=verbose, quiet=quiet)

    from flashdoctor import planning
    from flashdoctor.model.lint_redaction import redact_lint

    given = _read(words)
    facts = _facts(assume, snapshot)
    report = planning.lint(
        given.text,
        engine_version=engine_version,
        facts=facts,
        installed=_installed(python, engine_version, facts),
        model=_model(model),
        yaml=given.yaml,
        folder=given.folder,
        fail_on=cast("FailOn", fail_on),
    )
    context = Context(command="lint", source=given.source, fail_on=fail_on)
    return outcome(asked, redact_lint(report), context, verbose=verbose, quiet=quiet)


def _reject_mixtures(
    assume: list[str] | None,
    snapshot: str | None,
    python: str | None,
    *,
    verbose: bool,
    quiet: bool,
) -> None:
    stated = {"--assume": assume, "--snapshot": snapshot, "--python": python}
    given = [name for name, value in stated.items() if value is not None]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other")
    if verbose and quiet:
        raise UsageError("--verbose and --quiet exclude each other")


def _read(words: list[str]) -> _Text:
    """Return what is to be judged: several words are one command as it was typed."""
    from flashdoctor.pipeline import read_text

    if len(words) > 1:
        import shlex

        return _Text(shlex.join(words))
    [word] = words
    if word == STDIN:
        return _Text(read_text(STDIN))
    if _is_file(word):
        path = Path(word)
        yaml = True if path.suffix.lower() in _YAML else None
        return _Text(read_text(word), yaml, path.parent, source_name(word))
    if not word.strip():
        raise UsageError("the command is empty")
    return _Text(word)


def _is_file(word: str) -> bool:
    if len(word) > _LONGEST_NAME or "\n" in word or "\0" in word:
        return False
    try:
        return Path(word).is_file()
    except OSError:
        return False


def _facts(assume: list[str] | None, snapshot: str | None) -> Snapshot | None:
    from flashdoctor import pipeline

    if assume is not None:
        return pipeline.assume(assume)
    return pipeline.load_snapshot(snapshot) if snapshot is not None else None


def _model(folder: str | None) -> Model | None:
    if folder is None:
        return None
    from flashdoctor.model_folder import read_model

    return read_model(folder)


def _installed(
    python: str | None, engine_version: str | None, facts: Snapshot | None
) -> Installed | None:
    """Look for a vLLM where that was asked for, or where nothing else says which one is meant."""
    if facts is not None or (engine_version is not None and python is None):
        return None
    from flashdoctor.errors import TargetNotFoundError
    from flashdoctor.vllm_sources import read_installed

    try:
        return read_installed(python)
    except TargetNotFoundError:
        if python is not None:
            raise
        return None
