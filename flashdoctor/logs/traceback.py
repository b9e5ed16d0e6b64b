"""Python tracebacks as they pass by: the packages of their frames, and the exception. Pure."""

from __future__ import annotations

import re

MARKS = (
    '", line ',
    "traceback (most recent call last",
    "-packages",
    "error",
    "exception",
    "interrupt",
    "exit",
    "failure",
    "fault",
)
"""What a line holds, in lower case, that must be fed."""

_START = re.compile(r"traceback \(most recent call last", re.IGNORECASE)
# A frame is looked for from its end on: what may stand before that is long and can be anything.
_FRAME_END = re.compile(r"""["']?, line \d""")
_FRAME_FILE = re.compile(r"""File ["']?(?P<file>[^"'\n]{1,400})\Z""")
_RICH_FRAME_END = re.compile(r"\.pyx?(?=:\d{1,9}(?: in |:in |:|\s|$))")
_NO_PATH = re.compile(r"[\s|\u2502]")
_LONGEST_FILE = 410
_PACKAGE = re.compile(r"(?:site|dist)-packages[\\/](?P<name>[A-Za-z0-9_]{1,60})")
_EXCEPTION = re.compile(r"(?:E  +)?(?:\w{1,60}\.){0,8}(?P<name>[A-Z]\w{2,60})(?=:|\s*$)")
# What a logger writes before a line: `ERROR 05-27 11:47:57 [core.py:396] `, `ERROR:root:`.
_LOGGED = re.compile(
    r"(?:[\d:., TZ-]{8,40}(?:- )?)?\[?(?:ERROR|CRITICAL|FATAL|WARNING|INFO)\b[\]:]?[\d:., -]{0,30}"
    r"(?:\[?[\w./<>-]{1,60}:\d{1,6}\]|[a-z_][a-z0-9_.]{0,60}:)?[ :]{0,4}"
)
_RAISED = re.compile(r"(?:Error|Exception|Interrupt|Exit|Failure|Fault|NotFound)$")
_MAX_PACKAGES = 12


class Traceback:
    """The last traceback of the lines fed so far.

    `packages` of its frames, innermost first, and `exception`, the class that it ended with. An
    exception without any frame before it has no packages.
    """

    def __init__(self) -> None:
        self.packages: list[str] = []
        self.exception = ""
        self._inside = False
        self._ended = 0

    def feed(self, text: str, number: int) -> bool:
        """Take one line and its number; return whether it belongs to a traceback."""
        if _START.search(text):
            self.packages, self._inside = [], True
            return True
        file = _file_of(text)
        if file:
            self._add(file)
            return True
        logged = _LOGGED.match(text)
        raised = _EXCEPTION.match(text[logged.end() :].strip() if logged else text.strip())
        if raised is None or number == self._ended or not _RAISED.search(raised["name"]):
            return False
        self.exception, self._ended = raised["name"], number
        self.packages = self.packages if self._inside else []
        self._inside = False
        return True

    def _add(self, file: str) -> None:
        if not self._inside:
            self.packages, self._inside = [], True
        found = _PACKAGE.search(file)
        if found is None:
            return
        name = found["name"]
        if name in self.packages:
            self.packages.remove(name)
        self.packages.insert(0, name)
        del self.packages[_MAX_PACKAGES:]


def _file_of(text: str) -> str:
    """Return the file that a frame names; empty where the line is none."""
    end = _FRAME_END.search(text)
    if end:
        start = text.rfind("File ", max(end.start() - _LONGEST_FILE, 0), end.start())
        found = _FRAME_FILE.match(text, start, end.start()) if start >= 0 else None
        if found:
            return found["file"]
    rich = _RICH_FRAME_END.search(text)
    if rich is None:
        return ""
    return _NO_PATH.split(text[max(rich.start() - _LONGEST_FILE, 0) : rich.end()])[-1]
