"""`flashdoctor resolve`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from flashdoctor.cli import options
from flashdoctor.cli.output import Outcome, read_style
from flashdoctor.cli.parsing import Command, new_app
from flashdoctor.errors import UsageError
from flashdoctor.model.plan import EMITS, INSTALLERS

if TYPE_CHECKING:
    from flashdoctor.model.plan import Emit, Installer, Resolution
    from flashdoctor.model.snapshot import Snapshot

Want = Annotated[
    list[str] | None,
    typer.Option(
        "--want",
        metavar="NAME[==VERSION]",
        show_default=False,
        help="What has to run: vllm, flash-attn, fa3, fa4, transformers, torch"
        " [default: what is installed, else flash-attn].",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="NAME",
        show_default=False,
        help="Leave this package's installed release as it is: torch, transformers, ...",
    ),
]
Assume = Annotated[
    list[str] | None,
    typer.Option(
        "--assume",
        metavar="KEY=VALUE",
        show_default=False,
        help="Plan for assumed facts and look at nothing: gpu='RTX 4090', driver=535, ...",
    ),
]
SnapshotFile = Annotated[
    str | None,
    typer.Option(
        "--snapshot", metavar="FILE|-", show_default=False, help="Plan for a recorded snapshot."
    ),
]
InstallerOption = Annotated[
    str,
    typer.Option(
        "--installer",
        metavar="pip|uv",
        show_default=False,
        help="Whose commands to print [default: pip].",
    ),
]
EmitOption = Annotated[
    str | None,
    typer.Option(
        "--emit",
        metavar="requirements|dockerfile",
        show_default=False,
        help="Print such a file instead.",
    ),
]

app = new_app()


@app.command(cls=Command)
def resolve(  # noqa: PLR0913 - one parameter is one option
    *,
    want: Want = None,
    keep: Keep = None,
    python: options.Python = None,
    assume: Assume = None,
    snapshot: SnapshotFile = None,
    installer: InstallerOption = "pip",
    emit: EmitOption = None,
    output_format: options.Format = "terminal",
    output: options.Output = None,
    verbose: options.Verbose = False,
) -> Outcome:
    """Plan an installation that fits this machine.

    Exit code: 0 there is a plan, 1 there is none, 2 wrong usage, 3 no diagnosis.
    """
    options.one_of("--format", output_format, options.TEXT_FORMATS)
    options.one_of("--installer", installer, INSTALLERS)
    if emit is not None:
        options.one_of("--emit", emit, EMITS)
    _reject_mixtures(python, assume, snapshot)

    from flashdoctor import planning

    resolution = planning.resolve(
        _facts(python, assume, snapshot),
        wants=want or (),
        keep=options.split(keep or ()),
        installer=cast("Installer", installer),
        emits=cast("Emit | None", emit),
    )
    text = _text(resolution, output_format, output, verbose=verbose)
    return Outcome(text=text, exit_code=resolution.exit_code, output=output)


def _text(resolution: Resolution, output_format: str, output: str | None, *, verbose: bool) -> str:
    if output_format == "json":
        from flashdoctor.render.json_v1 import dump

        return dump(resolution.to_json())
    if resolution.emitted:
        return next(iter(resolution.emitted.values()))
    from flashdoctor.render.resolve_text import render

    return render(resolution, read_style(output, verbose=verbose))


def _reject_mixtures(python: str | None, assume: list[str] | None, snapshot: str | None) -> None:
    stated = {"--python": python, "--assume": assume, "--snapshot": snapshot}
    given = [name for name, value in stated.items() if value is not None]
    if len(given) > 1:
        raise UsageError(
            f"{' and '.join(given)} exclude each other",
            hint="facts come from this machine, from a snapshot or from assumptions",
        )


def _facts(python: str | None, assume: list[str] | None, snapshot: str | None) -> Snapshot:
    from flashdoctor import pipeline

    if assume is not None:
        return pipeline.assume(assume)
    if snapshot is not None:
        return pipeline.load_snapshot(snapshot)
    return pipeline.collect(python, "off")
