"""The errors that flashdoctor raises on purpose. Imports nothing of ours.

Each carries a reference (stable, greppable), a message and a hint. The command line prints them
as one line each and exits with `exit_code`; a traceback is always a bug.
"""

from __future__ import annotations


class FlashdoctorError(Exception):
    """Base of every expected failure.

    `reference` is the stable short name, `hint` says what to do next, `exit_code` follows the
    contract: 2 wrong usage, 3 could not diagnose.
    """

    reference = "error"
    exit_code = 3

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(FlashdoctorError):
    """An option or argument that makes no sense; exit 2."""

    reference = "usage"
    exit_code = 2


class InputError(FlashdoctorError):
    """A file that cannot be read, or is not what it should be; exit 3."""

    reference = "input"


class MatrixError(FlashdoctorError):
    """One or more mistakes in the matrices, all of them in the message; exit 3."""

    reference = "matrix"


class TargetError(FlashdoctorError):
    """The target Python could not report; exit 3 unless the caller turns it into a fact."""

    reference = "target"


class TargetNotFoundError(TargetError):
    """No interpreter at the path that was asked for, or none at all."""

    reference = "target-not-found"


class TargetTooOldError(TargetError):
    """The interpreter is older than Python 3.8."""

    reference = "target-too-old"


class TargetTimeoutError(TargetError):
    """The interpreter did not answer within its limit and was killed."""

    reference = "target-timeout"


class TargetCrashedError(TargetError):
    """The interpreter ended by a signal or a non-zero status before it reported."""

    reference = "target-crashed"


class TargetSilentError(TargetError):
    """The interpreter ended well but printed no report that could be read."""

    reference = "target-silent"
