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
_MARKER = regex(r"(?i)##(?=[a-z]*\[)|section_(?:start|end):(?=\d)")
_MARKED = ("##", "section_")


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
    return break_markers(plain)


def _mark(char: str) -> str:
    if char.isprintable():
        return char
    return " " if char.isspace() else "?"


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 4].rstrip() + " ..."


def break_markers(text: str, swap: str = r"\g<0> ") -> str:
    """Return a text in which no CI service finds a command of its own, wherever it stands.

    `##[name]` is GitHub's older form and Azure's, `##vso[` Azure's, `##teamcity[` TeamCity's,
    `section_start:` GitLab's.
    """
    folded = text.lower()
    return _MARKER.sub(swap, text) if any(mark in folded for mark in _MARKED) else text


def defuse(line: str) -> str:
    """Return an output line that no CI service takes for a command.

    GitHub's runner obeys `::name::` behind leading blanks; what is obeyed anywhere in a line, see
    `break_markers`.
    """
    return break_markers(_COMMAND.sub(r"\1: ", line))
