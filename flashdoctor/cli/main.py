"""The entry point: parse, run a command, write its output, turn errors into lines and codes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.main import get_command

from flashdoctor.cli.output import Outcome, deliver, write_stderr, write_stdout
from flashdoctor.cli.parsing import USAGE_ERROR, group_of, new_app
from flashdoctor.errors import FlashdoctorError, UsageError
from flashdoctor.render.clean import clean

PROGRAM = "flashdoctor"
WRONG_USAGE = 2
NOT_DIAGNOSED = 3
INTERRUPTED = 130
_LONGEST_ERROR = 4000

COMMANDS = (
    "check",
    "smoke",
    "diagnose",
    "tune",
    "lint",
    "resolve",
    "snapshot",
    "diff",
    "rules",
    "matrix",
    "folklore",
)
"""Each is a module beside this one, in the order of the help."""

app = new_app(
    "Say whether flash attention can run on this GPU stack, why not, and what to do.",
    cls=group_of({name: f"{__package__}.{name}" for name in COMMANDS}),
)


def _print_version(value: bool) -> None:
    if value:
        from flashdoctor import __version__

        write_stdout(f"{PROGRAM} {__version__}\n")
        raise typer.Exit


def _print_completion(ctx: typer.Context, value: str | None) -> None:
    if value is not None:
        from flashdoctor.cli.completion import script

        write_stdout(script(value, ctx.command, ctx))
        raise typer.Exit


@app.callback()
def flashdoctor(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    show_completion: Annotated[
        str | None,
        typer.Option(
            "--show-completion",
            metavar="bash|zsh|fish",
            callback=_print_completion,
            is_eager=True,
            show_default=False,
            help="Print the completion for a shell, to be sourced.",
        ),
    ] = None,
) -> None:
    """Say whether flash attention can run on this GPU stack, why not, and what to do."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; nothing is ever raised but an exit."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        return run(args)
    except KeyboardInterrupt:
        return INTERRUPTED
    except FlashdoctorError as error:
        return _fail(error.message, error.hint, error.exit_code)
    except Exception as error:  # noqa: BLE001 - a traceback is no answer to a worried reader
        return _fail_unexpectedly(error)


def console() -> None:
    """Run the command line of this process and end it.

    It ends at once: taking the interpreter apart costs 12 ms, a tenth of a whole `check`. Children
    that still run are killed first.
    """
    _end_as_by_ctrl_c()
    code = main()
    processes = sys.modules.get("flashdoctor.target.process")
    if processes is not None:
        processes.kill_running()
    os._exit(code)  # what was written is flushed


def _end_as_by_ctrl_c() -> None:
    """Let SIGTERM and SIGHUP do what Ctrl-C does: `timeout`, schedulers, a lost terminal send them.

    Children stand in groups of their own, so nobody else would end them.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: Any) -> None:
    """Do what SIGINT does at this moment; a shell has it ignored in what runs in the background."""
    current = signal.getsignal(signal.SIGINT)
    (current if callable(current) else signal.default_int_handler)(number, frame)


def run(args: list[str]) -> int:
    """Run one command line; raises `FlashdoctorError` for what a user can get wrong."""
    command: Any = get_command(app)
    if not args:
        with command.make_context(PROGRAM, [], resilient_parsing=True) as context:
            write_stderr(command.get_help(context) + "\n")
        return WRONG_USAGE
    try:
        result = command.main(args=args, prog_name=PROGRAM, standalone_mode=False)
    except USAGE_ERROR as error:
        raise _usage_error(error) from None
    except typer.Abort:  # what an older typer makes of an interrupt
        raise KeyboardInterrupt from None
    if not isinstance(result, Outcome):
        return int(result or 0)
    deliver(result)
    return result.exit_code


def _usage_error(error: Any) -> UsageError:
    context = getattr(error, "ctx", None)
    where = context.command_path if context else PROGRAM
    return UsageError(error.format_message().rstrip("."), hint=f"{where} --help")


def _fail(message: str, hint: str, exit_code: int) -> int:
    text = clean("; ".join(message.splitlines()), _LONGEST_ERROR)
    more = f" ({clean(hint)})" if hint else ""
    write_stderr(f"{PROGRAM}: error: {text}{more}\n")
    return exit_code


def _fail_unexpectedly(error: Exception) -> int:
    if os.environ.get("FLASHDOCTOR_DEBUG"):
        import traceback

        write_stderr(traceback.format_exc())
    text = clean(f"{type(error).__name__}: {error}")
    write_stderr(
        f"{PROGRAM}: internal error: {text} (please report it;"
        " FLASHDOCTOR_DEBUG=1 prints where it happened)\n"
    )
    return NOT_DIAGNOSED
