"""The one place that starts programs for the probes: bounded in time, never raising."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias

Failure: TypeAlias = Literal["not-found", "permission", "timeout", "os-error"]

_GRACE_S = 0.5  # for a killed group to let go of its pipes


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """What a program said.

    `status` is its exit status, minus the signal's number where a signal ended it, None where it
    never ran to an end. `failure` is empty where it ran to its end, whatever the status. What it
    printed before it was killed is kept.
    """

    stdout: str = ""
    stderr: str = ""
    status: int | None = None
    failure: Failure | Literal[""] = ""

    @property
    def ok(self) -> bool:
        """Whether it ran to its end with status 0."""
        return self.status == 0 and not self.failure


def run(
    args: Sequence[str],
    *,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
) -> Completed:
    """Run a program to its end, or kill it and all it started after `timeout_s` seconds.

    `env` replaces the whole environment where it is given; PATH is always searched in this
    process's own. Text is UTF-8 both ways, and bytes that are not become U+FFFD. Never raises: a
    program that cannot be started is a `Completed` with a `failure`.
    """
    try:
        process = _start(args, env, stdin is not None)
    except FileNotFoundError as error:
        return Completed(failure="not-found", stderr=str(error))
    except PermissionError as error:
        return Completed(failure="permission", stderr=str(error))
    except (OSError, ValueError) as error:  # ValueError: a null byte in an argument
        return Completed(failure="os-error", stderr=str(error))
    with process:
        return _finish(process, timeout_s, stdin)


def _start(
    args: Sequence[str], env: Mapping[str, str] | None, takes_input: bool
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        list(args),
        stdin=subprocess.PIPE if takes_input else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=None if env is None else dict(env),
        start_new_session=os.name == "posix",  # a group of its own, so that all of it can be killed
    )


def _finish(process: subprocess.Popen[bytes], timeout_s: float, stdin: str | None) -> Completed:
    given = None if stdin is None else stdin.encode("utf-8", "surrogateescape")
    try:
        out, err = process.communicate(given, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        out, err = _kill(process)
        return Completed(stdout=_text(out), stderr=_text(err), failure="timeout")
    return Completed(stdout=_text(out), stderr=_text(err), status=process.returncode)


def _kill(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Kill the group and return what it printed; a pipe that stays held is closed, not awaited."""
    with suppress(OSError):  # it may have ended by itself meanwhile
        if os.name == "posix":
            import signal  # noqa: PLC0415  # only when something hangs

            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    try:
        return process.communicate(timeout=_GRACE_S)
    except subprocess.TimeoutExpired as late:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        return late.output or b"", late.stderr or b""


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
