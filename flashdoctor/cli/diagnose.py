"""`flashdoctor diagnose`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias, cast

import typer

from flashdoctor.cli import options
from flashdoctor.cli.output import Outcome, read_style, stream
from flashdoctor.cli.parsing import new_app
from flashdoctor.cli.reports import ReportCommand, Request, outcome, requests, source_name
from flashdoctor.cli.selection import expand
from flashdoctor.errors import FlashdoctorError, InputError, UsageError
from flashdoctor.render.clean import clean, defuse
from flashdoctor.render.context import Context
from flashdoctor.render.formats import FORMATS

if TYPE_CHECKING:
    from flashdoctor.engine.verdict import FailOn
    from flashdoctor.model.finding import Report
    from flashdoctor.model.log import Line
    from flashdoctor.model.rule import Component
    from flashdoctor.render.style import Style

    Judge: TypeAlias = Callable[[Iterable[Line]], Report]

LINES = "jsonl"
STDIN = "-"
_WORST_FIRST = (1, 3, 0)

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE|-...",
        show_default=False,
        help="Logs, reports, issue texts; also .gz and .zip. `-` is standard input.",
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="IDS",
        show_default=False,
        help="Judge only by these rules and signatures: ids, names, beginnings such as LS3.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="IDS", show_default=False, help="Leave these out."),
]
Redact = Annotated[
    bool,
    typer.Option("--redact", help="Judge nothing: print the text without names and secrets."),
]
Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        metavar="NAME",
        show_default=False,
        help="As for check, and jsonl (one report a line) [default: terminal].",
    ),
]


class Answer(NamedTuple):
    """What became of one file: a report, and an error where it could not be read."""

    name: str
    report: Report
    error: str = ""


app = new_app()


@app.command(cls=ReportCommand)
def diagnose(  # noqa: PLR0913 - one parameter is one option
    files: Files,
    *,
    require: options.Require = None,
    select: Select = None,
    ignore: Ignore = None,
    fail_on: options.FailOn = None,
    redact: Redact = False,
    output_format: Formats = None,
    output: options.Outputs = None,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> Outcome:
    """Name the root cause that pasted logs and reports show.

    Exit code: 0 a healthy stack, 1 a cause at or above --fail-on, 2 wrong usage, 3 nothing in the
    text could be recognised. Of several files the worst counts: 1, then 3.
    """
    asked = requests(output_format, output, (*FORMATS, LINES))
    fail_on = options.one_of("--fail-on", fail_on or "error", options.FAIL_ON)
    required = options.components(require or ())
    _reject_mixtures(files, asked, redact=redact, verbose=verbose, quiet=quiet)
    form, to = asked[0]
    if redact:
        stream(_redacted(files), to)
        return Outcome(text="")

    from flashdoctor import pipeline

    known = pipeline.criteria() if select or ignore else ()
    judge = partial(
        pipeline.diagnose,
        required=cast("Sequence[Component]", required),
        select=expand("--select", select or (), known),
        ignore=expand("--ignore", ignore or (), known),
        fail_on=cast("FailOn", fail_on),
    )
    if len(files) == 1 and form != LINES:
        report = judge(_lines(files[0]))
        context = Context(command="diagnose", source=source_name(files[0]), fail_on=fail_on)
        return outcome(asked, report, context, _beside, verbose=verbose, quiet=quiet)
    codes: list[int] = []
    answers = _answers(files, judge, codes)
    style = read_style(to, verbose=verbose, quiet=quiet)
    stream(_json_lines(answers) if form == LINES else _texts(answers, style), to)
    return Outcome(text="", exit_code=min(codes, key=_WORST_FIRST.index, default=0))


def _reject_mixtures(
    files: Sequence[str], asked: Sequence[Request], *, redact: bool, verbose: bool, quiet: bool
) -> None:
    names = [one.format for one in asked]
    if verbose and quiet:
        raise UsageError("--verbose and --quiet exclude each other")
    if redact and (names != ["terminal"] or verbose or quiet):
        raise UsageError("--redact prints the text itself, so --format, --verbose, --quiet go not")
    if LINES in names and len(names) > 1:
        raise UsageError("--format jsonl is written as the files are read, and goes alone")
    if names not in (["terminal"], [LINES]) and len(files) > 1:
        raise UsageError(
            f"--format {names[-1]} is one report, and {len(files)} files were given",
            hint="--format jsonl prints one report a line",
        )
    if list(files).count(STDIN) > 1:
        raise UsageError("standard input can be read only once")


def _lines(name: str) -> Iterator[Line]:
    from flashdoctor.pastes import read_paste

    return read_paste(name)


def _beside() -> dict[str, Any]:
    """Return the rules: formats that list them show their names."""
    from flashdoctor import pipeline

    return {"rules": {rule.id: rule for rule in pipeline.rules()}}


def _answers(files: Sequence[str], judge: Judge, codes: list[int]) -> Iterator[Answer]:
    """Yield each file's report, or why there is none. One bad file does not stop the others."""
    for name in files:
        answer = _answer(name, judge)
        codes.append(answer.report.exit_code)
        yield answer


def _answer(name: str, judge: Judge) -> Answer:
    try:
        return Answer(name, judge(_lines(name)))
    except InputError as error:
        return Answer(name, _no_report(), error.message)
    except FlashdoctorError:
        raise
    except Exception as error:  # noqa: BLE001 - the other files still deserve their answer
        return Answer(name, _no_report(), f"internal error: {type(error).__name__}: {error}")


def _no_report() -> Report:
    from flashdoctor import __version__
    from flashdoctor.model.finding import Report
    from flashdoctor.model.snapshot import Snapshot

    tool = {"name": "flashdoctor", "version": __version__}
    return Report(verdict="undetermined", exit_code=3, snapshot=Snapshot(), tool=tool)


def _json_lines(answers: Iterable[Answer]) -> Iterator[str]:
    from flashdoctor.model.scrub import scrub_path
    from flashdoctor.render.json_v1 import dump_line

    for answer in answers:
        error = {"error": answer.error} if answer.error else {}
        yield dump_line({"file": scrub_path(answer.name), **answer.report.to_json(), **error})


def _texts(answers: Iterable[Answer], style: Style) -> Iterator[str]:
    from flashdoctor.model.scrub import scrub_path
    from flashdoctor.render.diagnosis_text import diagnosis_text

    for place, answer in enumerate(answers):
        heading = f"== {clean(scrub_path(answer.name))}\n"
        said = diagnosis_text(answer.report, style)
        if answer.error:
            said = f"UNDETERMINED  {clean(answer.error)}\n"
        yield ("\n" if place and not style.quiet else "") + heading + said


def _redacted(files: Sequence[str]) -> Iterator[str]:
    from flashdoctor.logs.redact import redact
    from flashdoctor.pastes import paste_parts

    for name in files:
        if len(files) > 1:
            yield f"== {clean(name)}\n"
        yield from map(_defused, redact(paste_parts(name)))


def _defused(text: str) -> str:
    return "\n".join(map(defuse, text.split("\n")))
