"""Make text from files, environments and error messages harmless before it is shown.

Whatever a fact says, it stays one line of plain text: no terminal sequence, no control or
bidirectional character, and no workflow command that a CI service would carry out.
"""

from __future__ import annotations

from flashdoctor.model.regex import regex

LIMIT = 300
"""Characters of one value that are shown at most; JSON carries the whole value."""

_SEQUENCE = regex(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, ...
    r"|\x1b[ -/]*[0-~]"  # the short ones
)
_COMMAND = regex(r"^(\s*(?:\x1b\[[0-9;]*m\s*)*):(?=:)")
_OLD_COMMAND = "##["


def clean(text: str, limit: int = LIMIT) -> str:
    """Return `text` as one printable line of at most `limit` characters, blanks collapsed."""
    return _shorten(" ".join(_printable(text, limit).split()), limit)


def clean_line(text: str) -> str:
    """Return one line of a file as it stands, blanks and all, without what cannot be printed."""
    return _printable(text, len(text)).rstrip()


def clean_command(text: str) -> str:
    """Return a shell command as one printable line that keeps its own blanks and its length."""
    return _printable(text, len(text)).strip()


def _printable(text: str, limit: int) -> str:
    head = text[: limit * 4]  # enough to see that it is too long, and a bound on the work
    plain = head if head.isprintable() else "".join(map(_mark, _SEQUENCE.sub("", head)))
    return plain.replace(_OLD_COMMAND, "## [")


def _mark(char: str) -> str:
    if char.isprintable():
        return char
    return " " if char.isspace() else "?"


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 4].rstrip() + " ..."


def defuse(line: str) -> str:
    """Return an output line that GitHub's runner does not take for a workflow command.

    It obeys `::name::` behind leading blanks, and the older `##[name]` anywhere in a line.
    """
    return _COMMAND.sub(r"\1: ", line).replace(_OLD_COMMAND, "## [")
