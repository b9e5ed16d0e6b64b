"""Lay out lines: columns as a terminal counts them, wrapping with a hanging indent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from unicodedata import combining, east_asian_width

GAP = 2


def cells(text: str) -> int:
    """Return the columns that `text` takes: two for a wide character, none for a combining one."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def _cell(char: str) -> int:
    if combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def pad(text: str, width: int) -> str:
    """Return `text` filled up with blanks to `width` columns."""
    return text + " " * (width - cells(text))


def wrap(text: str, width: int) -> list[str]:
    """Break `text` at blanks into lines of at most `width` columns, inside a word where it must be.

    An address on the web is never broken, so that it can be followed. An empty text is one empty
    line.
    """
    lines = [""]
    for word in _pieces(text.split(), max(width, 2)):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cells(joined) <= max(width, 2) or not lines[-1]:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines


def _pieces(words: Iterable[str], width: int) -> Iterator[str]:
    for word in words:
        if cells(word) <= width or "://" in word:
            yield word
            continue
        piece = ""
        for char in word:
            if piece and cells(piece + char) > width:
                yield piece
                piece = ""
            piece += char
        yield piece


def hang(first: str, text: str, width: int, *, tag: str = "") -> list[str]:
    """Lay out `first` and `text`, later lines indented as far as `first` reaches.

    `tag` stands flush right on the first line.
    """
    indent = cells(first)
    room = width - indent - (cells(tag) + GAP if tag else 0)
    head, *rest = wrap(text, room)
    start = first + head
    if tag:
        start = pad(start, width - cells(tag)) + tag
    return [start.rstrip(), *(" " * indent + line for line in rest)]


def indented(text: str, width: int, indent: int) -> list[str]:
    """Return a paragraph, every line of it indented."""
    return hang(" " * indent, text, width)


def pairs(items: Sequence[tuple[str, str]], width: int, indent: int) -> list[str]:
    """Lay out labels and values in two aligned columns; values wrap in theirs."""
    if not items:
        return []
    most = max((width - indent) // 2 - GAP, 8)
    column = min(max(cells(label) for label, _ in items), most)
    lines: list[str] = []
    for label, value in items:
        room = width - indent - column - GAP
        both = zip_longest(wrap(label, column), wrap(value, room), fillvalue="")
        lines += [(" " * indent + pad(name, column + GAP) + part).rstrip() for name, part in both]
    return lines


def joined(blocks: Iterable[Sequence[str]]) -> list[str]:
    """Return blocks of lines one below the other, a blank line between any two."""
    lines: list[str] = []
    for block in blocks:
        if block:
            lines += ["", *block] if lines else block
    return lines


def table(rows: Sequence[Sequence[str]], indent: int = 0) -> list[str]:
    """Lay out rows of equal length in columns as wide as their widest cell."""
    if not rows:
        return []
    widths = [max(cells(row[place]) for row in rows) for place in range(len(rows[0]))]
    gap = " " * GAP
    return [
        (" " * indent + gap.join(map(pad, row, widths))).rstrip()  # the last one ends the line
        for row in rows
    ]
