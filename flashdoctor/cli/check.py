"""`flashdoctor check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from flashdoctor.cli import options
from flashdoctor.cli.output import Outcome, read_style
from flashdoctor.cli.parsing import Command, new_app
from flashdoctor.cli.selection import expand
from flashdoctor.errors import UsageError
from flashdoctor.render.formats import FORMATS, renderer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flashdoctor.engine.verdict import FailOn
    from flashdoctor.model.rule import Component
    from flashdoctor.model.snapshot import Snapshot
    from flashdoctor.pipeline import Smoke

_EXAMPLES = "example:list"

SnapshotFile = Annotated[
    str | None,
    typer.Option(
        "--snapshot",
        metavar="FILE|-",
        show_default=False,
        help="Judge a recorded snapshot; `example:list` names those that come along.",
    ),
]
Assume = Annotated[
    list[str] | None,
    typer.Option(
        "--assume",
        metavar="KEY=VALUE",
        show_default=False,
        help="Judge assumed facts and look at nothing: gpu='RTX 4090', torch=2.6.0+cu124, ...",
    ),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="NAME",
        show_default=False,
        help="What has to work: sdpa, flash-attn, fa3, fa4, vllm, transformers.",
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="IDS",
        show_default=False,
        help="Judge only by these rules: ids, names or beginnings such as FD3, with commas.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="IDS", show_default=False, help="Leave these rules out."),
]
FailOnOption = Annotated[
    str,
    typer.Option(
        "--fail-on",
        metavar="error|warning|never",
        show_default=False,
        help="Which findings make the exit code 1 [default: error].",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the verdict line only.")]


app = new_app()


@app.command(cls=Command)
def check(  # noqa: PLR0913 - one parameter is one option
    *,
    python: options.Python = None,
    snapshot: SnapshotFile = None,
    assume: Assume = None,
    require: Require = None,
    smoke: options.Smoke = "auto",
    select: Select = None,
    ignore: Ignore = None,
    fail_on: FailOnOption = "error",
    output_format: options.Format = "terminal",
    output: options.Output = None,
    verbose: options.Verbose = False,
    quiet: Quiet = False,
) -> Outcome:
    """Judge a GPU stack, say what to fix.

    Exit code: 0 nothing at or above --fail-on, 1 something is, 2 wrong usage, 3 no diagnosis.
    """
    write = renderer(options.one_of("--format", output_format, FORMATS))
    options.one_of("--smoke", smoke, options.SMOKES)
    options.one_of("--fail-on", fail_on, options.FAIL_ON)
    required = options.components(require or ())
    _reject_mixtures(python, snapshot, assume, smoke)
    if verbose and quiet:
        raise UsageError("--verbose and --quiet exclude each other")
    if snapshot == _EXAMPLES:
        return Outcome(text=_examples(output_format), output=output)

    from flashdoctor import pipeline

    rules = pipeline.rules() if select or ignore else ()
    report = pipeline.judge_snapshot(
        _facts(python, snapshot, assume, smoke, required),
        required=cast("Sequence[Component]", required),
        select=expand("--select", select or (), rules),
        ignore=expand("--ignore", ignore or (), rules),
        fail_on=cast("FailOn", fail_on),
    )
    text = write(report, read_style(output, verbose=verbose, quiet=quiet))
    return Outcome(text=text, exit_code=report.exit_code, output=output)


def _reject_mixtures(
    python: str | None, snapshot: str | None, assume: list[str] | None, smoke: str
) -> None:
    stated = {"--python": python, "--snapshot": snapshot, "--assume": assume}
    given = [name for name, value in stated.items() if value is not None]
    if len(given) > 1:
        raise UsageError(
            f"{' and '.join(given)} exclude each other",
            hint="facts come from this machine, from a snapshot or from assumptions",
        )
    if smoke == "on" and given and given != ["--python"]:
        raise UsageError(f"--smoke on runs something, {given[0]} runs nothing")


def _facts(
    python: str | None,
    snapshot: str | None,
    assume: list[str] | None,
    smoke: str,
    required: Sequence[str],
) -> Snapshot:
    from flashdoctor import pipeline

    if assume is not None:
        return pipeline.assume(assume)
    if snapshot is not None:
        return pipeline.load_snapshot(snapshot)
    return pipeline.collect(python, cast("Smoke", smoke), cast("Sequence[Component]", required))


def _examples(output_format: str) -> str:
    from flashdoctor import pipeline

    examples = pipeline.example_names()
    if output_format == "json":
        from flashdoctor.render.json_v1 import dump

        return dump([{"name": name, "description": text} for name, text in examples])
    from flashdoctor.render.layout import pairs

    rows = [(f"example:{name}", text) for name, text in examples]
    return "".join(line + "\n" for line in pairs(rows, read_style(None).columns, 0))
