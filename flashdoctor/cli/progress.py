"""One line on standard error that says what is at work, on a terminal and nowhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TextIO

from flashdoctor.cli.output import is_terminal
from flashdoctor.render.clean import clean

_WIDTH = 60
_CLEAR = f"\r{' ' * _WIDTH}\r"


class Progress:
    """Shows `12 of 41: NAME` over and over in one line; `clear` ends it."""

    def __init__(self, *, quiet: bool, env: Mapping[str, str] | None = None) -> None:
        env = os.environ if env is None else env
        dumb = env.get("TERM", "").lower() in {"dumb", "unknown"}
        stream = sys.stderr
        shown = not (quiet or dumb or env.get("CI")) and stream is not None and is_terminal(stream)
        self._stream: TextIO | None = stream if shown else None

    def __call__(self, done: int, total: int, what: str) -> None:
        """Say how many cases are done, and what is at work."""
        text = clean(f"{min(done + 1, total)} of {total}: {what}", _WIDTH - 1)
        self._write(_CLEAR + text)

    def clear(self) -> None:
        """Leave an empty line."""
        self._write(_CLEAR)

    def _write(self, text: str) -> None:
        if self._stream is not None:
            with suppress(OSError, ValueError):  # a terminal that went away is no reason to stop
                self._stream.write(text)
                self._stream.flush()
