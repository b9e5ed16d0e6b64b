"""What the configured package index says, asked through pip in a child process.

Nothing is installed and no wheel is downloaded: pip's `fast-deps` reads METADATA by ranged requests
(or takes the metadata file beside the wheel), and from 25.3 on it leaves the rest of the wheel
alone in a dry run; older ones fetch all of it. pip finds the index by its own configuration.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from flashdoctor.errors import TargetError
from flashdoctor.model.upkeep import Metadata, Published
from flashdoctor.target.process import Ended, Limits, run_process
from flashdoctor.upkeep.answers import (
    last_error,
    parse_listing,
    parse_pip_version,
    parse_report,
)
from flashdoctor.upkeep.verify import Wanted

_OLDEST = (25, 3)
_SECONDS = 120.0
_LISTING_BYTES = 64 << 20


class Index(Protocol):
    """Where answers come from: pip, or a recording. It counts what they cost."""

    @property
    def calls(self) -> int:
        """How many questions were asked."""

    @property
    def seconds(self) -> float:
        """The time since the first one."""

    @property
    def pip(self) -> str:
        """The version of pip."""

    def files(self, name: str) -> tuple[Published, ...]:
        """Return every file of a package; `TargetError` where the index cannot be asked."""

    def metadata(self, wanted: Sequence[Wanted]) -> tuple[Metadata, ...]:
        """Return METADATA of wheels of different packages; `TargetError` says why not."""


class PipIndex:
    """The index that the pip of `python` is configured for. Counts what it cost."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._started = time.monotonic()
        self.calls = 0
        self.pip = _read_pip(python)

    @property
    def seconds(self) -> float:
        """The time since the first question."""
        return time.monotonic() - self._started

    def files(self, name: str) -> tuple[Published, ...]:
        """Return every file of a package by `pip index versions -vv`."""
        ended = self._ask("index", "versions", "-vv", "--ignore-requires-python", name)
        return parse_listing(ended.stdout.decode("utf-8", "replace"))

    def metadata(self, wanted: Sequence[Wanted]) -> tuple[Metadata, ...]:
        """Return METADATA of wheels by one `pip install --dry-run`; all for the same Python."""
        platforms = dict.fromkeys(item.platform for item in wanted if item.platform != "any")
        with tempfile.TemporaryDirectory(prefix="flashdoctor-") as folder:
            report = Path(folder, "report.json")
            self._ask(
                *("install", "--dry-run", "--no-deps", "--ignore-installed"),
                *("--report", str(report), "--use-feature=fast-deps", "--ignore-requires-python"),
                *("--only-binary=:all:", "--implementation", "cp", "--target", folder),
                *("--python-version", wanted[0].python),
                *(word for tag in platforms for word in ("--platform", tag)),
                *(f"{item.name}=={item.version}" for item in wanted),
            )
            return parse_report(report.read_text(encoding="utf-8"))

    def _ask(self, *words: str) -> Ended:
        self.calls += 1
        command = (self._python, "-m", "pip", "--no-input", "--disable-pip-version-check", *words)
        try:
            ended = run_process(command, limits=Limits(_SECONDS, output_bytes=_LISTING_BYTES))
        except (OSError, ValueError) as error:
            raise TargetError(f"pip cannot be started: {error}") from None
        if ended.reason != "ended":
            raise TargetError(f"pip did not answer within {_SECONDS:g} s ({ended.reason})")
        if ended.status != 0:
            said = last_error((ended.stderr + b"\n" + ended.stdout).decode("utf-8", "replace"))
            raise TargetError(f"pip ended with status {ended.status}: {said}")
        return ended


def _read_pip(python: str) -> str:
    """Return the version of an interpreter's pip; `TargetError` where it is too old for this."""
    try:
        ended = run_process((python, "-m", "pip", "--version"), limits=Limits(_SECONDS))
    except (OSError, ValueError) as error:
        raise TargetError(f"pip cannot be started: {error}") from None
    numbers = parse_pip_version(ended.stdout.decode("utf-8", "replace"))
    if numbers is None:
        raise TargetError(f"no pip answers in {os.fspath(python)}", hint=_hint(python))
    text = ".".join(map(str, numbers))
    if numbers < _OLDEST:
        raise TargetError(
            f"pip {text} would download every wheel whole; from 25.3 on it reads METADATA alone",
            hint=_hint(python),
        )
    return text


def _hint(python: str) -> str:
    return f"{python} -m pip install 'pip>=25.3', or name another interpreter with --python"


def batches(wanted: Iterable[Wanted]) -> list[list[Wanted]]:
    """Put wheels into as few questions as there can be: one Python, each package once."""
    found: list[list[Wanted]] = []
    for item in wanted:
        fitting = (
            batch
            for batch in found
            if batch[0].python == item.python and all(other.name != item.name for other in batch)
        )
        place = next(fitting, None)
        if place is None:
            found.append([item])
        else:
            place.append(item)
    return found
