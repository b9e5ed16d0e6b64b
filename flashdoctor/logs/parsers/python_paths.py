"""The interpreter's version and platform in the folders and modules that a traceback names.

A mention only: a path may be another interpreter's. The first one counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from flashdoctor.logs.parsers._stated import on
from flashdoctor.logs.statements import MENTION, BlockParser
from flashdoctor.model.facts import known
from flashdoctor.model.log import Found, Line

PATH_SOURCE = "a path"
_FOLDER = re.compile(r"[/\\]python(3\.\d{1,2})[/\\](?:site|dist)-packages[/\\]", re.IGNORECASE)
_WINDOWS_FOLDER = re.compile(r"[/\\]Python3(\d{1,2})[/\\]Lib[/\\]site-packages", re.IGNORECASE)
_PLATFORM = re.compile(
    r"\.(?:cpython-|cp)3\d{1,2}-(?:(x86_64|aarch64)-linux-gnu\.so|(win_amd64)\.pyd)\b"
)
_MODULE = re.compile(r"\.(?:cpython-|cp)3(\d{1,2})(?:-[\w-]{1,40})?\.(?:so|pyd)\b")


class _Paths:
    """The first path that says a thing, and no other: one log names thousands."""

    open = False

    def __init__(self) -> None:
        self._readers = {"python.version": version_of_path, "os.platform": platform_of_path}

    def feed(self, line: Line) -> Iterable[Found]:
        """Read from a path what none has told yet."""
        told = {path: read(line.text) for path, read in self._readers.items()}
        facts = [known(path, value, PATH_SOURCE) for path, value in told.items() if value]
        for fact in facts:
            del self._readers[fact.path]
        return on(line, facts, MENTION)

    def end(self) -> Iterable[Found]:
        """Give nothing: a path stands on one line."""
        return ()


def version_of_path(text: str) -> str | None:
    """Return `3.10` for `/usr/lib/python3.10/site-packages/x` or `x.cpython-310-x86_64-....so`."""
    folder = _FOLDER.search(text)
    if folder:
        return folder[1]
    other = _WINDOWS_FOLDER.search(text) or _MODULE.search(text)
    return f"3.{other[1]}" if other else None


def platform_of_path(text: str) -> str | None:
    """Return `linux_x86_64` for `x.cpython-310-x86_64-linux-gnu.so`."""
    match = _PLATFORM.search(text)
    return (match[2] or f"linux_{match[1]}") if match else None


_KEYWORDS = ("/site-packages/", "/dist-packages/", "\\site-packages", ".cpython-3", ".cp3")

PARSER = BlockParser(kind="paths", keywords=_KEYWORDS, make=_Paths)
