"""What a command hands back, and how it reaches the reader."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TextIO

from flashdoctor.errors import UsageError
from flashdoctor.render.style import Style

DEFAULT_WIDTH = 80

_SAYS_UTF8 = ("<?xml ", "<!DOCTYPE html>")  # how the documents begin that name their encoding


class Written(NamedTuple):
    """A text, and the file that it goes to or is added to; None is standard output."""

    text: str
    output: str | None = None
    append: bool = False


class Outcome(NamedTuple):
    """The whole output of a command, where it goes (None: standard output), and the exit code.

    `others`: what is written besides.
    """

    text: str
    exit_code: int = 0
    output: str | None = None
    others: tuple[Written, ...] = ()


def read_style(output: str | None, *, verbose: bool = False, quiet: bool = False) -> Style:
    """Return how to write to standard output, or plainly where a file was asked for."""
    stream = None if output else sys.stdout
    return style_for(stream, os.environ, verbose=verbose, quiet=quiet)


def style_for(
    stream: TextIO | None, env: Mapping[str, str], *, verbose: bool = False, quiet: bool = False
) -> Style:
    """Return how to write to `stream`: colour and Unicode only on a terminal that shows them.

    NO_COLOR, CI, TERM=dumb, a pipe and a file all get the plain marks. rich would say the same,
    50 ms later.
    """
    rich = stream is not None and _is_capable(stream, env)
    return Style(
        width=_width(stream, env),
        color=rich,
        unicode=rich and _is_utf8(stream),
        verbose=verbose,
        quiet=quiet,
    )


def _is_capable(stream: TextIO, env: Mapping[str, str]) -> bool:
    if env.get("NO_COLOR") or env.get("CI") or env.get("TERM", "").lower() in {"dumb", "unknown"}:
        return False
    if os.name == "nt" and not env.get("WT_SESSION"):
        return False  # older consoles print escape sequences as they are
    return is_terminal(stream)


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is open and shows on a terminal."""
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def _is_utf8(stream: TextIO | None) -> bool:
    encoding = getattr(stream, "encoding", None) or ""
    return encoding.lower().replace("-", "").replace("_", "") == "utf8"


def _width(stream: TextIO | None, env: Mapping[str, str]) -> int:
    if stream is None:
        return DEFAULT_WIDTH
    stated = env.get("COLUMNS", "")
    if stated.isascii() and stated.isdigit() and int(stated[:6]):
        return int(stated[:6])
    with suppress(OSError, ValueError):
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    return DEFAULT_WIDTH


def deliver(outcome: Outcome) -> None:
    """Write a command's output: to its files, then to standard output."""
    pieces = (Written(outcome.text, outcome.output), *outcome.others)
    for piece in sorted(pieces, key=lambda piece: piece.output is None):
        if piece.output is None:
            write_stdout(piece.text)
        elif piece.append:
            append_file(Path(piece.output), piece.text)
        else:
            write_file(Path(piece.output), [piece.text])


def stream(pieces: Iterable[str], output: str | None) -> None:
    """Write texts as they come: to standard output, or to a file that is complete or not there."""
    if output is not None:
        write_file(Path(output), pieces)
        return
    for piece in pieces:
        if not write_stdout(piece):
            break


def write_stdout(text: str) -> bool:
    """Write to standard output; a reader that has gone away is no error, a full disk is.

    Returns whether anyone still reads.
    """
    if sys.stdout is None:
        return False
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None and text.startswith(_SAYS_UTF8):  # whatever the locale says
        reconfigure(encoding="utf-8")
    return _write(sys.stdout, text)


def write_stderr(text: str) -> None:
    """Write to standard error, if there is one that takes it."""
    if sys.stderr is not None:
        with suppress(UsageError):
            _write(sys.stderr, text)


def _write(stream: TextIO, text: str) -> bool:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    safe = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        stream.write(safe)
        stream.flush()
    except BrokenPipeError:
        _silence(stream)
        return False
    except (OSError, ValueError) as error:  # ValueError: closed
        _silence(stream)
        raise UsageError(f"cannot write the output: {_reason(error)}") from None
    return True


def _silence(stream: TextIO) -> None:
    """Point a stream that nobody reads at nothing, so that its last flush does not complain."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


def write_file(path: Path, pieces: Iterable[str]) -> None:
    """Write a file so that a reader sees the old or the new one whole; `UsageError` if it fails.

    What is no plain file (`/dev/null`, a pipe) is written to as it is.
    """
    try:
        real = Path(os.path.realpath(path))
        if path.exists() and not path.is_file():  # /dev/stdout's real name may be none: pipe:[7]
            _fill(path, pieces)
        else:
            _replace(real, pieces)
    except (OSError, ValueError) as error:
        raise UsageError(f"--output: cannot write {path}: {_reason(error)}") from None


def append_file(path: Path, text: str) -> None:
    """Add a text to a file that nobody asked for on the command line; say so where it fails."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        write_stderr(f"flashdoctor: warning: no summary was written: {_reason(error)}\n")


def _fill(path: Path, pieces: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(pieces)


def _replace(path: Path, pieces: Iterable[str]) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _fill(beside, pieces)
        if path.exists():
            beside.chmod(path.stat().st_mode)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
