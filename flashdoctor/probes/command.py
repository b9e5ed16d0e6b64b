"""What a program says, for the probes: text, and a word for every way to fail; never raises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from flashdoctor.target.process import Ended, Limits, run_process

Failure: TypeAlias = Literal["not-found", "permission", "timeout", "overflow", "os-error"]


class Completed(NamedTuple):
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
    stdin: str = "",
) -> Completed:
    """Run a program to its end, or kill it and all it started after `timeout_s` seconds.

    `env` replaces the whole environment where it is given, PATH for the search included. Text is
    UTF-8 both ways, and bytes that are not become U+FFFD. Never raises: a program that cannot be
    started is a `Completed` with a `failure`.
    """
    given = stdin.encode("utf-8", "surrogateescape")
    try:
        ended = run_process(args, stdin=given, environ=env, limits=Limits(timeout_s=timeout_s))
    except FileNotFoundError as error:
        return Completed(failure="not-found", stderr=str(error))
    except PermissionError as error:
        return Completed(failure="permission", stderr=str(error))
    except (OSError, ValueError) as error:  # ValueError: a null byte in an argument
        return Completed(failure="os-error", stderr=str(error))
    return _completed(ended)


def _completed(ended: Ended) -> Completed:
    return Completed(
        stdout=ended.stdout.decode("utf-8", "replace"),
        stderr=ended.stderr.decode("utf-8", "replace"),
        status=ended.status,
        failure="" if ended.reason == "ended" else ended.reason,
    )
