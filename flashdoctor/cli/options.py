"""The options that several commands share, and the checks of their values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from flashdoctor.errors import UsageError
from flashdoctor.model.rule import COMPONENTS

SMOKES = ("auto", "on", "off")
FAIL_ON = ("error", "warning", "never")
TEXT_FORMATS = ("terminal", "json")
_DIGITS = 9

Python = Annotated[
    str | None,
    typer.Option(
        "--python",
        metavar="PATH",
        show_default=False,
        help="The interpreter or environment to look at [default: the active one].",
    ),
]
Smoke = Annotated[
    str,
    typer.Option(
        "--smoke",
        metavar="auto|on|off",
        show_default=False,
        help="Import torch in a child and run a small kernel [default: auto].",
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format", metavar="NAME", show_default=False, help="terminal or json [default: terminal]."
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
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        metavar="error|warning|never",
        show_default=False,
        help="Which findings make the exit code 1 [default: error].",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the verdict line only.")]


def file_or_stdout(output: str | None) -> str | None:
    """Return the file that an --output names; None, standard output, where it is `-`."""
    return None if output == "-" else output


Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        callback=file_or_stdout,
        metavar="FILE",
        show_default=False,
        help="Write there instead of to standard output.",
    ),
]
Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        metavar="NAME",
        show_default=False,
        help="terminal, json, sarif, junit, github, markdown or html; may be given several times,"
        " each with an --output behind it [default: terminal].",
    ),
]
Outputs = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        metavar="FILE",
        show_default=False,
        help="Write there instead of to standard output.",
    ),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Say everything, with the source of each fact.")
]


def split(items: Iterable[str]) -> list[str]:
    """Return the parts of comma-separated texts, each once, in their order."""
    parts = (part.strip() for item in items for part in item.split(","))
    return list(dict.fromkeys(part for part in parts if part))


def one_of(option: str, value: str, allowed: Iterable[str]) -> str:
    """Return `value`, or raise `UsageError` with what would be allowed."""
    words = list(allowed)
    if value in words:
        return value
    raise UsageError(
        f"{option} takes {_either(words)}, not {value!r}{did_you_mean(value, words)}",
    )


def number(option: str, value: str, *, least: int = 0) -> int:
    """Return a whole number, or raise `UsageError`."""
    if value.isascii() and value.isdigit() and len(value) <= _DIGITS and int(value) >= least:
        return int(value)
    raise UsageError(f"{option} takes a whole number of {least} or more, not {value!r}")


def components(items: Iterable[str]) -> tuple[str, ...]:
    """Return what is required, checked."""
    return tuple(one_of("--require", item, COMPONENTS) for item in split(items))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?`, or an empty text where nothing is like `word`."""
    import difflib

    names = list(known)
    lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(word.lower(), lower, n=1)
    return f"; did you mean {lower[close[0]]!r}?" if close else ""


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
