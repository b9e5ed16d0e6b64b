"""A paste made fit for sharing, line by line: what model.scrub cuts, and secrets of several lines.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flashdoctor.logs.clean import peel
from flashdoctor.logs.escapes import strip_escapes
from flashdoctor.logs.prefixes import SYSLOG, SYSLOG_ISO
from flashdoctor.logs.text import decode, drawings, number_lines
from flashdoctor.model.scrub import scrub_line

SECRET = "<secret>"  # noqa: S105 - the mark that a secret leaves behind

_CONTEXT = 1024  # of a line in pieces: what must be seen again, a key before its value
_KEY_STARTS = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]*-----")
_KEY_LINES = 250
_KEY_WORDS = 2  # a line of a key holds no blanks, its headers one
_NAMED = re.compile(
    r"(?i)(?:pass(?:word|wd|phrase|code)?|secret|token|credentials?|authorization"
    r"|(?:api|access|private|auth|account|secret|license)[_-]?key)[\"']?\s*[:=]\s*\\?[\"']?\s*$"
)
# An environment variable of Kubernetes: its value stands on the next line.
_VARIABLE = re.compile(
    r"(?i)\bname[\"']?:\s*[\"']?[\w.-]*(?:token|secret|passw(?:or)?d|credentials?|[_-]key|_pat)"
    r"[\w-]*[\"']?,?\s*$"
)
_VALUE = re.compile(r"(?i)(.{0,80}?\bvalue[\"']?:\s*)(?=\S)")
_NAME = "password="
_BROKEN_AT = 60
_REST = re.compile(
    r"(?:[ \t]+(?=[\w+/=.~-]{20}))?(?![\w.-]+[=<>~!]=)"
    r"(?=[\w+/=.~-]*\d)(?=[\w+/=.~-]*[A-Za-z])[\w+/=.~-]{4,}"
)


def redact(parts: Iterable[Iterable[bytes]]) -> Iterator[str]:
    """Yield the texts of a paste scrubbed, mostly line by line, each with its newline.

    Terminal sequences are gone as well: one inside a token would hide it.
    """
    for chunks in parts:
        lines, current, held = _Lines(), 0, ""
        for number, piece in number_lines(decode(chunks), overlap=0):
            if number == current:
                text = scrub_line(_plain(held) + _plain(piece))
                yield text[:-_CONTEXT]
                held = text[-_CONTEXT:]
                continue
            if current:
                yield lines.scrub(held)
            current, held = number, piece
        if current:
            yield lines.scrub(held)


def _plain(text: str) -> str:
    return "\n".join(strip_escapes(part) for part in drawings(text))


class _Lines:
    """Scrubs lines in their order, with what one says about the next."""

    def __init__(self) -> None:
        self._key_lines = 0  # of a private key that may still come
        self._variable = False  # the line ended with the name of a variable that is a secret
        self._named = False  # the line ended with the name of a secret
        self._broken = False  # the line ended inside a secret, at what may be a terminal's width

    def scrub(self, line: str) -> str:
        """Return a line scrubbed, with its newline."""
        text = _plain(line)
        if not text.strip():
            return text + "\n"
        if self._key_lines:
            shown = self._scrub_key(text)
        elif _KEY_STARTS.search(text) and not _KEY_ENDS.search(text):
            self._key_lines = _KEY_LINES
            shown = scrub_line(_KEY_STARTS.split(text)[0]) + SECRET
        else:
            shown = self._scrub_rest(text)
        self._broken = len(text) >= _BROKEN_AT and shown.endswith(SECRET)
        self._named = _NAMED.search(text) is not None
        self._variable = _VARIABLE.search(text) is not None
        return shown + "\n"

    def _scrub_key(self, text: str) -> str:
        ended = _KEY_ENDS.search(text)
        self._key_lines = 0 if ended else self._key_lines - 1
        if ended:
            return SECRET + scrub_line(text[ended.end() :])
        said = peel(text)
        if len(said.split()) > _KEY_WORDS:  # another process wrote in between
            return scrub_line(text)
        return SECRET if said else ""

    def _scrub_rest(self, text: str) -> str:
        if self._named:
            return scrub_line(_NAME + text.strip())[len(_NAME) :]
        value = _VALUE.match(text) if self._variable else None
        if value:
            return scrub_line(value[1] + _NAME + text[value.end() :]).replace(_NAME, "", 1)
        rest = _REST.match(text) if self._broken else None
        if rest:
            return SECRET + scrub_line(text[rest.end() :])
        return scrub_line(_without_host(text))


def _without_host(text: str) -> str:
    found = SYSLOG.match(text) or SYSLOG_ISO.match(text)
    if found is None:
        return text
    return f"{text[: found.start('host')]}<host>{text[found.end('host') :]}"
