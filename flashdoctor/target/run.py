"""Run an agent in another interpreter and read what it reports; every failure has a type."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from flashdoctor.errors import (
    TargetCrashedError,
    TargetError,
    TargetNotFoundError,
    TargetSilentError,
    TargetTimeoutError,
    TargetTooOldError,
)
from flashdoctor.model.regex import regex
from flashdoctor.target.payload import program
from flashdoctor.target.process import Ended, Limits, run_process

Watcher: TypeAlias = Callable[[Mapping[str, Any]], "float | None"]
"""Gets each report as it comes; may return how long, in s, the agent may be silent from then on."""

SENTINEL = b"FLASHDOCTOR-AGENT-V1 "
OLDEST = "3.8"

# `python -` would read the program line by line, which takes 7 ms more. Python 2.7 takes this too,
# and a shell that was taken for a Python finds it wrong before it runs anything.
_READ_IT_ALL = "exec(__import__('sys').stdin.read())"
_LONGEST_WORDS = 400
_FIRST_EXCEPTION = 0x80000000  # Windows: a program that an exception ended has its code as status
_ERROR_LINE = regex(r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)\b|Fatal Python error")
_CONTROL = regex(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Exchange(NamedTuple):
    """The reports of one run in order, and how the interpreter ended."""

    python: str
    agent: str
    reports: tuple[Mapping[str, Any], ...]
    ended: Ended
    limits: Limits

    @property
    def too_old(self) -> str | None:
        """The version of an interpreter that refused the agent, None where it took it."""
        for report in self.reports:
            if report.get("agent") == "too-old":
                return str(report.get("version", "unknown"))[:20]
        return None


def run_agent(
    python: str | Path,
    *,
    agent: str = "collect",
    timeout_s: float = 20,
    options: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the last report of an agent, as JSON values nobody has checked yet.

    A report counts even where the interpreter crashed behind it. Raises the Target*Error that
    fits where there is none.
    """
    limits = Limits(timeout_s=timeout_s)
    done = exchange(python, agent, limits=limits, options=options, environ=environ)
    if done.too_old is not None or not done.reports:
        raise failure(done)
    return dict(done.reports[-1])


def exchange(  # noqa: PLR0913 - what to run, in what, for how long, heard by whom: none hides another
    python: str | Path,
    agent: str,
    *,
    limits: Limits,
    options: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    watch: Watcher | None = None,
    on_start: Callable[[], object] = lambda: None,
) -> Exchange:
    """Run an agent and return all it reported; TargetNotFoundError where nothing could be started.

    The interpreter gets no flags: PYTHONPATH, the user site and sitecustomize are part of the
    environment that fails. It writes no bytecode.
    """
    environ = os.environ if environ is None else environ
    text = program(agent, options or {}).encode("ascii")
    try:
        ended = run_process(
            [str(python), "-c", _READ_IT_ALL],
            stdin=text,
            environ={**environ, "PYTHONDONTWRITEBYTECODE": "1"},
            limits=limits,
            listener=_Lines(agent, watch).hear if watch else None,
            on_start=on_start,
        )
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        raise _not_started(str(python), error) from error
    reports = parse_reports(ended.stdout, agent)
    return Exchange(python=str(python), agent=agent, reports=reports, ended=ended, limits=limits)


class _Lines:
    """Cuts what comes into lines, and hands on the reports among them."""

    def __init__(self, agent: str, watch: Watcher) -> None:
        self._agent, self._watch = agent, watch
        self._rest = b""

    def hear(self, data: bytes) -> float | None:
        """Take the next piece of output; return the last limit that the watcher gave."""
        lines, newline, rest = (self._rest + data).rpartition(b"\n")
        self._rest = rest
        silence_s = None
        for report in parse_reports(lines, self._agent) if newline else ():
            answer = self._watch(report)
            silence_s = silence_s if answer is None else answer
        return silence_s


def _not_started(python: str, error: Exception) -> TargetNotFoundError:
    what = str(getattr(error, "strerror", None) or error).lower()
    return TargetNotFoundError(
        f"{python} cannot be started: {what}", hint="name a Python interpreter with --python"
    )


def parse_reports(stdout: bytes, agent: str) -> tuple[Mapping[str, Any], ...]:
    """Return the reports in an interpreter's output, whatever else was printed around them."""
    found = []
    for line in stdout.split(b"\n"):
        if not line.startswith(SENTINEL):
            continue
        try:
            body = json.loads(line[len(SENTINEL) :])
        except (ValueError, RecursionError):
            continue
        if isinstance(body, dict) and body.get("agent") in {agent, "too-old"}:
            found.append(body)
    return tuple(found)


def failure(done: Exchange) -> TargetError:
    """Return the error that says why a run gave no report, or not all of it."""
    ended, python = done.ended, done.python
    if done.too_old is not None:
        return TargetTooOldError(
            f"{python} is Python {done.too_old}; flashdoctor looks into {OLDEST} and newer",
            hint="name another interpreter with --python",
        )
    if ended.reason == "timeout":
        return TargetTimeoutError(
            f"{python} did not answer within {_limit(done):g} s and was killed",
            hint="a sitecustomize, a .pth file or a network folder may hold it up",
        )
    if ended.reason == "overflow":
        return TargetSilentError(
            f"{python} printed more than {done.limits.output_bytes >> 20} MiB and no report",
            hint="see what prints when that Python starts",
        )
    if ended.status:
        return TargetCrashedError(_crash(done), hint=f"try `{python} -c pass`")
    return TargetSilentError(
        f"{python} ended without a report{_said(ended)}",
        hint="is it a Python, and does its sitecustomize let programs run?",
    )


def _limit(done: Exchange) -> float:
    silence_s, timeout_s = done.limits.silence_s, done.limits.timeout_s
    if silence_s is None or done.ended.seconds >= timeout_s:
        return timeout_s
    return silence_s


def _crash(done: Exchange) -> str:
    return f"{done.python} {describe_status(done.ended.status or 0)}{_said(done.ended)}"


def describe_status(status: int) -> str:
    """Return `was ended by SIGSEGV`, `ended with status 3`, on Windows `status 0xC0000005`."""
    if status >= _FIRST_EXCEPTION:
        return f"ended with status 0x{status:X}"
    if status >= 0:
        return f"ended with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"was ended by {name}"


def _said(ended: Ended) -> str:
    words = last_words(ended.stderr)
    return f": {words}" if words else ""


def last_words(stderr: bytes) -> str:
    """Return the line of standard error that says most, without control characters.

    That is the last one that names an error, else the last one.
    """
    lines = [_CONTROL.sub("", line).strip() for line in stderr.decode(errors="replace").split("\n")]
    lines = [line for line in lines if line]
    errors = [line for line in lines if _ERROR_LINE.match(line)]
    return (errors or lines or [""])[-1][:_LONGEST_WORDS]
