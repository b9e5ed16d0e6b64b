"""Terminal sequences and invisible characters out of a line of text. Pure.

What is left has no control character but the tab, blanks for every kind of space, and straight
quotes: compilers and word processors write the same message with either kind.
"""

from __future__ import annotations

import re

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, APC
    r"|\x1b[ -/]*[0-~]"  # the short ones
)
# The same colours as other programs spell an escape: cat -v, rsyslog, JSON, a shell, Python.
_SPELLED = re.compile(r"(?:\^\[|#033|\\u001[bB]|\\x1[bB]|\\033|\\e|\u241b)\[[0-9;?]*[A-Za-z]")
_COLOUR = re.compile(r"\[\d{1,2}(?:;\d{1,3}){0,5}m")  # what is left where the escape was lost
_RESETS = ("[0m", "[00m", "[39m", "[22m")

_DROPPED = (
    *range(0x09), *range(0x0A, 0x20), *range(0x7F, 0xA0),
    0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF,
)  # fmt: skip
_BLANKS = (0x0B, 0x0C, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F,
           0x3000)  # fmt: skip
_STRAIGHT = {0x2018: "'", 0x2019: "'", 0x201A: "'", 0x201B: "'", 0x201C: '"', 0x201D: '"',
             0x201E: '"', 0x201F: '"'}  # fmt: skip
_PLAIN: dict[int, str] = {
    **dict.fromkeys(_DROPPED, ""),
    **dict.fromkeys(_BLANKS, " "),
    **_STRAIGHT,
}


def strip_escapes(text: str) -> str:
    """Return the text as a terminal would show it, without colours."""
    if not (text.isascii() and text.isprintable()):
        text = _strip_controls(text)
    if "\\" in text or "^[" in text or "#033" in text:
        text = _SPELLED.sub("", text)
    if "m" in text and any(reset in text for reset in _RESETS):
        text = _COLOUR.sub("", text)
    return text


def _strip_controls(text: str) -> str:
    if "\x1b" in text or not text.isascii():
        text = _SEQUENCE.sub("", text)
    if "\x08" in text:
        text = _rub_out(text)
    return text.translate(_PLAIN)


def _rub_out(text: str) -> str:
    """Let each backspace take away what stands before it: spinners, and bold print of old."""
    shown: list[str] = []
    for char in text:
        if char != "\x08":
            shown.append(char)
        elif shown:
            shown.pop()
    return "".join(shown)
