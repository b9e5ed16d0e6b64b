"""Markdown in which text from elsewhere stays text: no link, mention, reference, HTML or emphasis.

A backslash or an entity does not do: GitHub looks for `@name` and `#1` after both are gone. Code
spans and fences are left alone by every reader, so whatever is more than plain words goes there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flashdoctor.model.regex import regex

_WORD = regex(r"[^\W_]+(?:(?:[.,/'=-]|\+{1,2})[^\W_]+)*\+{0,2}")
_EDGES = regex(r"(?s)(\(*[\"']*)(.*?)([\"').,;:!?%]*)")
_REFERENCE = regex(r"(?i)www\..*|[a-z]+-[0-9]+|(?=.*\d)[0-9a-f]{7,64}")
_TICKS = regex("`+")
_LIST = regex(r"\d{1,9}[.)]")


def prose(text: str) -> str:
    """Return a line of prose: plain words as they are, the rest in code spans."""
    parts: list[str] = []
    code: list[str] = []
    for place, word in enumerate(text.split()):
        if _is_plain(word) and not (place == 0 and _LIST.fullmatch(word)):
            parts += _spans(code)
            code = []
            parts.append(word)
        else:
            code.append(word)
    return " ".join([*parts, *_spans(code)])


def _is_plain(word: str) -> bool:
    edges = _EDGES.fullmatch(word)
    core = edges[2] if edges else ""
    return bool(_WORD.fullmatch(core)) and not _REFERENCE.fullmatch(core)


def _spans(words: list[str]) -> Iterator[str]:
    if words:
        yield span(" ".join(words))


def span(text: str) -> str:
    """Return one line as a code span; an empty text stays empty."""
    flat = " ".join(text.split())
    if not flat:
        return ""
    ticks = _fence(flat, 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}"


def cell(text: str) -> str:
    """Return a span or a line for a table, in which `|` ends a cell even inside code."""
    return text.replace("|", "\\|")


def fenced(lines: Iterable[str], language: str = "") -> list[str]:
    """Return lines as a block of code that none of them can end."""
    body = [line for text in lines for line in text.splitlines()]
    ticks = _fence("\n".join(body), 3)
    return [f"{ticks}{language}", *body, ticks]


def _fence(text: str, least: int) -> str:
    """Return more backticks than stand in the text anywhere."""
    longest = max((len(found) for found in _TICKS.findall(text)), default=0)
    return "`" * max(longest + 1, least)
