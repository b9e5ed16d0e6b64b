"""One line of a paste as the program said it: without what stands around it. Pure."""

from __future__ import annotations

from flashdoctor.logs.markup import strip_markup
from flashdoctor.logs.prefixes import strip_prefixes
from flashdoctor.logs.structured import unfold

_LAYERS = 4  # a quoted line of a container's log of a worker's log


def peel(text: str) -> str:
    """Return a line (without escapes) less prefixes, quote marks, fences, tags and box rules."""
    for _ in range(_LAYERS):
        length = len(text)
        text = strip_markup(strip_prefixes(text))
        if len(text) == length:
            break
    return text.rstrip()


def clean_line(text: str) -> list[str]:
    """Return what a line (without escapes) says: mostly one text, the lines of a JSON entry."""
    said = peel(text)
    if "{" in said or "\\" in said:
        inner = unfold(said)
        if inner is not None:
            return [peel(line) for line in inner]
    return [said]
