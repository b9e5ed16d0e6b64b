"""`flashdoctor check`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from flashdoctor.cli import options
from flashdoctor.cli.output import Outcome, read_style
from flashdoctor.cli.parsing import new_app
from flashdoctor.cli.reports import (
    ReportCommand,
    Request,
    only,
    outcome,
    requests,
    source_name,
)
from flashdoctor.errors import UsageError
from flashdoctor.render.context import Context

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

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
PolicyFile = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="FILE|none",
        show_default=False,
        help="Judge by this policy [default: flashdoctor.toml, or [tool.flashdoctor] of"
        " pyproject.toml, here or above, up to the repository or home].",
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="NAME", show_default=False, help="The policy's profile to judge by."
    ),
]


app = new_app()


@app.command(cls=ReportCommand)
def check(  # noqa: PLR0913 - one parameter is one option
    *,
    python: options.Python = None,
    snapshot: SnapshotFile = None,
    assume: Assume = None,
    require: options.Require = None,
    smoke: options.Smoke = "auto",
    select: Select = None,
    ignore: Ignore = None,
    policy: PolicyFile = None,
    profile: Profile = None,
    fail_on: options.FailOn = None,
    output_format: options.Formats = None,
    output: options.Outputs = None,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> Outcome:
    """Judge a GPU stack, say what to fix.

    Exit code: 0 nothing at or above --fail-on, 1 something is, 2 wrong usage, 3 no diagnosis.
    """
    asked = requests(output_format, output)
    options.one_of("--smoke", smoke, options.SMOKES)
    options.one_of("--fail-on", fail_on or "error", options.FAIL_ON)
    required = options.components(require or ())
    _reject_mixtures(python, snapshot, assume, smoke)
    if verbose and quiet:
        raise UsageError("--verbose and --quiet exclude each other")
    if snapshot == _EXAMPLES:
        one = only(asked, "the list of examples")
        return Outcome(text=_examples(one), output=one.output)

    from flashdoctor import pipeline

    selected, ignored = _chosen(select, ignore)
    ruling = pipeline.read_policy(policy, profile, _today)
    if ruling is not None:
        required, fail_on = required or ruling.require, fail_on or ruling.fail_on
    report = pipeline.judge_snapshot(
        _facts(python, snapshot, assume, smoke, required),
        required=cast("Sequence[Component]", required),
        select=selected,
        ignore=ignored,
        fail_on=cast("FailOn", fail_on or "error"),
        policy=ruling,
    )
    report = pipeline.exact_fixes(report)
    context = Context(command="check", fail_on=fail_on or "error")
    tell = partial(_beside, snapshot, assume)
    return outcome(asked, report, context, tell, verbose=verbose, quiet=quiet)


def _today() -> date:
    """Return the day by UTC: a gate answers the same everywhere at one moment."""
    from datetime import datetime, timezone

    return datetime.now(tz=timezone.utc).date()


def _chosen(select: list[str] | None, ignore: list[str] | None) -> tuple[Iterable[str], ...]:
    if not select and not ignore:
        return (), ()
    from flashdoctor import pipeline
    from flashdoctor.cli.selection import expand

    rules = pipeline.rules()
    return expand("--select", select or (), rules), expand("--ignore", ignore or (), rules)


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
        recorded = pipeline.load_snapshot(snapshot)
        return pipeline.without_proof(recorded) if smoke == "off" else recorded
    return pipeline.collect(python, cast("Smoke", smoke), cast("Sequence[Component]", required))


def _beside(snapshot: str | None, assume: list[str] | None) -> dict[str, Any]:
    """Return the lines of files that findings can be hung on, and the rules."""
    from flashdoctor import pipeline
    from flashdoctor.cli.anchors import read_facts, read_pins

    told: dict[str, Any] = {"rules": {rule.id: rule for rule in pipeline.rules()}}
    if snapshot is not None and not snapshot.startswith(pipeline.EXAMPLE_PREFIX):
        lines = {} if snapshot == "-" else read_facts(Path(snapshot))
        told |= {"source": source_name(snapshot), "lines": lines}
    elif snapshot is None and assume is None:
        told["pins"] = read_pins(Path())
    return told


def _examples(one: Request) -> str:
    from flashdoctor import pipeline

    examples = pipeline.example_names()
    if one.format == "json":
        from flashdoctor.render.json_v1 import dump

        return dump([{"name": name, "description": text} for name, text in examples])
    from flashdoctor.render.layout import pairs

    rows = [(f"example:{name}", text) for name, text in examples]
    return "".join(line + "\n" for line in pairs(rows, read_style(None).columns, 0))
