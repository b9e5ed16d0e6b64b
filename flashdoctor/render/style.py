"""How a renderer may write: width, colour, characters, depth. Decided by the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

Tone: TypeAlias = Literal["error", "warning", "info", "good", "none"]

MIN_WIDTH = 60
MAX_WIDTH = 120

_ASCII: Mapping[Tone, str] = {"error": "x", "warning": "!", "info": "-", "good": "v", "none": "-"}
_UNICODE: Mapping[Tone, str] = {**_ASCII, "error": "\u2717", "good": "\u2713"}

# Six escape codes: rich, which would write the same, takes 50 ms to import and reads markup.
_RESET = "\x1b[0m"
_CODES: Mapping[Tone, str] = {"error": "\x1b[31m", "warning": "\x1b[33m", "good": "\x1b[32m"}


class Style(NamedTuple):
    """`width` in columns; `unicode` allows marks beyond ASCII; `quiet` asks for the verdict only.

    Colour stands for severity and for nothing else.
    """

    width: int = 80
    color: bool = False
    unicode: bool = False
    verbose: bool = False
    quiet: bool = False

    @property
    def columns(self) -> int:
        """The width to lay out for: at least 60, and not so wide that lines are hard to read."""
        return min(max(self.width, MIN_WIDTH), MAX_WIDTH)

    def mark(self, tone: Tone) -> str:
        """Return the one-column mark of a tone, without colour."""
        return (_UNICODE if self.unicode else _ASCII)[tone]

    def paint(self, tone: Tone, text: str) -> str:
        """Return `text` in the colour of a tone, or as it is."""
        code = _CODES.get(tone) if self.color else None
        return f"{code}{text}{_RESET}" if code else text
