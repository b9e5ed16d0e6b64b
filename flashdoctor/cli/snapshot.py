"""`flashdoctor snapshot`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from flashdoctor.cli import options
from flashdoctor.cli.output import Outcome, read_style
from flashdoctor.cli.parsing import Command, new_app

if TYPE_CHECKING:
    from flashdoctor.pipeline import Smoke

SnapshotFormat = Annotated[
    str,
    typer.Option(
        "--format", metavar="NAME", show_default=False, help="json or terminal [default: json]."
    ),
]


app = new_app()


@app.command(cls=Command)
def snapshot(
    *,
    python: options.Python = None,
    smoke: options.Smoke = "auto",
    output_format: SnapshotFormat = "json",
    output: options.Output = None,
) -> Outcome:
    """Write down every fact, redacted.

    `flashdoctor check --snapshot FILE` judges it, on any machine.
    """
    options.one_of("--format", output_format, options.TEXT_FORMATS)
    options.one_of("--smoke", smoke, options.SMOKES)

    from flashdoctor import pipeline

    found = pipeline.collect(python, cast("Smoke", smoke))
    if output_format == "json":
        from flashdoctor.render.json_v1 import dump

        return Outcome(text=dump(found.to_json()), output=output)
    from flashdoctor.render.snapshot_text import snapshot_text

    return Outcome(text=snapshot_text(found, read_style(output)), output=output)
