"""`flashdoctor diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from flashdoctor.cli import options
from flashdoctor.cli.output import Outcome, read_style
from flashdoctor.cli.parsing import Command, new_app
from flashdoctor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flashdoctor.model.rule import Component

_STDIN = "-"

First = Annotated[
    str,
    typer.Argument(
        metavar="A",
        show_default=False,
        help="A snapshot: a file, `-` for standard input, or example:NAME.",
    ),
]
Second = Annotated[
    str, typer.Argument(metavar="B", show_default=False, help="The one to hold against it.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the first line only.")]


app = new_app()


@app.command(cls=Command)
def diff(  # noqa: PLR0913 - one parameter is one option
    first: First,
    second: Second,
    *,
    require: options.Require = None,
    output_format: options.Format = "terminal",
    output: options.Output = None,
    verbose: options.Verbose = False,
    quiet: Quiet = False,
) -> Outcome:
    """Say what differs between two snapshots, and what of it matters.

    Exit code: 0 same verdict and findings, 1 they differ, 2 wrong usage, 3 no snapshot.
    """
    options.one_of("--format", output_format, options.TEXT_FORMATS)
    required = options.components(require or ())
    if verbose and quiet:
        raise UsageError("--verbose and --quiet exclude each other")
    if first == second == _STDIN:
        raise UsageError("only one of the two snapshots can come from standard input")

    from flashdoctor import pipeline

    found = pipeline.diff(
        pipeline.load_snapshot(first),
        pipeline.load_snapshot(second),
        (_name(first), _name(second)),
        required=cast("Sequence[Component]", required),
    )
    if output_format == "json":
        from flashdoctor.render.json_v1 import dump

        return Outcome(dump(found.to_json()), found.exit_code, output)
    from flashdoctor.render.diff_text import diff_text

    style = read_style(output, verbose=verbose, quiet=quiet)
    return Outcome(diff_text(found, style), found.exit_code, output)


def _name(given: str) -> str:
    """Return a snapshot's name as it may be shown: no folder outside the working directory."""
    from flashdoctor.cli.reports import source_name
    from flashdoctor.pipeline import EXAMPLE_PREFIX

    if given.startswith(EXAMPLE_PREFIX):
        return given
    return source_name(given) or "standard input"
