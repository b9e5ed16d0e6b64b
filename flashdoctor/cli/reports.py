"""Several formats of one report: which go where, and what they are told beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from flashdoctor.cli import options
from flashdoctor.cli.output import Outcome, Written, read_style
from flashdoctor.cli.parsing import Command
from flashdoctor.errors import UsageError
from flashdoctor.render.context import Context
from flashdoctor.render.formats import FORMATS, SELF_CONTAINED, text_of

if TYPE_CHECKING:
    from flashdoctor.render.outline import AnyReport

SUMMARY = "GITHUB_STEP_SUMMARY"
"""GitHub's runner names there the file that a step may append its summary to."""

_STDIN = "-"


class Request(NamedTuple):
    """One format, and the file it goes to; None is standard output."""

    format: str
    output: str | None


class ReportCommand(Command):
    """A command with several --format and --output, each output beside its format."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as ever, then give each format its own output, or None.

        The parser hands over all formats and all outputs. Which of two formats has the only output
        shows in the order of the words alone.
        """
        words = list(args)
        rest: list[str] = super().parse_args(ctx, args)
        formats, outputs = (ctx.params.get(name) or [] for name in ("output_format", "output"))
        if 0 < len(outputs) < len(formats):
            order = [each.name for each in self.make_parser(ctx).parse_args(args=words)[2]]
            ctx.params["output"] = beside(order, outputs, len(formats))
        return rest


def beside(order: Iterable[str], outputs: Sequence[str], count: int) -> list[str | None]:
    """Return `count` outputs: each stands with the format before it, else they go in order."""
    slots: list[str | None] = [None] * count
    place, left = -1, list(outputs)
    for name in order:
        if name == "output_format":
            place += 1
        elif name == "output":
            if place < 0 or slots[place] is not None:
                return [*outputs, *[None] * (count - len(outputs))]
            slots[place] = left.pop(0)
    return slots


def requests(
    formats: Sequence[str] | None,
    outputs: Sequence[str | None] | None,
    allowed: Iterable[str] = FORMATS,
) -> tuple[Request, ...]:
    """Return what is to be written where; `UsageError` where two would go to the same place."""
    names = [options.one_of("--format", name, allowed) for name in formats or ["terminal"]]
    files = [options.file_or_stdout(name) for name in outputs or ()]
    if len(files) > len(names):
        raise UsageError(
            f"--output stands there {len(files)} times for {_times(len(names))}",
            hint="each --format takes one --output",
        )
    files += [None] * (len(names) - len(files))
    _reject_shared(files)
    return tuple(map(Request, names, files))


def _times(count: int) -> str:
    return "one format" if count == 1 else f"{count} formats"


def _reject_shared(files: Sequence[str | None]) -> None:
    if files.count(None) > 1:
        raise UsageError(
            f"{files.count(None)} formats cannot share standard output",
            hint="--output FILE behind a --format",
        )
    real = [os.path.realpath(name) for name in files if name is not None and "\0" not in name]
    shared = next((name for name in real if real.count(name) > 1 and _is_plain(name)), None)
    if shared is not None:
        raise UsageError(f"--output: two formats cannot share {Path(shared).name}")


def _is_plain(name: str) -> bool:
    return Path(name).is_file() or not Path(name).exists()


def only(asked: Sequence[Request], what: str) -> Request:
    """Return the only request of what has no report: terminal or json, once."""
    if len(asked) > 1 or asked[0].format not in SELF_CONTAINED:
        raise UsageError(f"{what} is written once, as terminal or json")
    return asked[0]


def outcome(  # noqa: PLR0913 - a report, what goes with it, and how to write it
    asked: Sequence[Request],
    report: AnyReport,
    context: Context,
    tell: Callable[[], Mapping[str, Any]] = dict,
    *,
    verbose: bool = False,
    quiet: bool = False,
) -> Outcome:
    """Return a report in every format that was asked for, with its one exit code.

    `tell` gives what else belongs into the context; it is called when a format needs it.
    """
    if not SELF_CONTAINED.issuperset(one.format for one in asked):
        context = replace(context, **tell())
    written = []
    for one in asked:
        style = read_style(one.output, verbose=verbose, quiet=quiet)
        written.append(Written(text_of(one.format, report, style, context), one.output))
    summary = os.environ.get(SUMMARY)
    if summary and any(one.format == "github" for one in asked):
        from flashdoctor.render.github import summary as summary_text

        text = summary_text(report, read_style(summary), context)
        written.append(Written(text, summary, append=True))
    return Outcome("", report.exit_code, others=tuple(written))


def source_name(name: str) -> str:
    """Return a file as a report may name it: its path below this folder, else its bare name.

    Empty for standard input.
    """
    if name == _STDIN:
        return ""
    below = Path(os.path.relpath(name))
    return below.name if below.is_absolute() or below.parts[:1] == (os.pardir,) else str(below)
