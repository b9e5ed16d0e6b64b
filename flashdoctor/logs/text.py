"""Bytes to lines of text, whatever they are encoded in and however they end. Pure.

Memory does not grow with the paste: no line is held beyond `LONGEST` characters.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import chain

LONGEST = 1 << 16
"""Characters of one line that are held at a time; what is longer comes in several pieces."""

OVERLAP = 512
"""Characters that a piece of a long line has in common with the one before it."""

SHORT = 8
"""Characters below which a line can say little."""

MOST_SHORT = 500
"""Short or equal lines in a row that are passed on. No tool prints that many: it is a dump of
numbers, or a file made to cost time."""

_BLOCK = 1 << 16
_SNIFFED = 4096
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose BOM is the start of this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SPARSE = 0.02
_DENSE = 0.2

# What sends the cursor back to draw a line anew: erase the line, to column 1, up.
_REDRAWN = re.compile(r"\x1b\[(?:2K|0?1?G|\d{0,4}[AF])")
_NOT_LETTERS = re.compile(r"[^A-Za-z]+")


def decode(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield the text of the bytes in blocks; wrong bytes become U+FFFD, NULs are dropped.

    The encoding is told by a byte order mark, else by where the NULs stand: UTF-16 without a mark
    has one in every other byte of plain text. Anything else is taken for UTF-8.
    """
    blocks = _blocks(chunks)
    first = next(blocks, b"")
    encoding = guess_encoding(first[:_SNIFFED])
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    narrow = encoding.startswith("utf-8")
    for block in chain([first], blocks):
        text = decoder.decode(block.replace(b"\0", b"") if narrow else block)
        yield text if narrow else text.replace("\0", "")
    yield decoder.decode(b"", final=True)


def guess_encoding(head: bytes) -> str:
    """Return the codec for a text that starts with these bytes."""
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return encoding
    half = max(len(head) // 2, 1)
    even, odd = head[0::2].count(0) / half, head[1::2].count(0) / half
    if odd > _DENSE and even < _SPARSE:
        return "utf-16-le"
    if even > _DENSE and odd < _SPARSE:
        return "utf-16-be"
    return "utf-8"


def _blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in blocks of one size, so that nothing hangs on how they arrived."""
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size < _BLOCK:
            continue
        joined = b"".join(held)
        whole = size - size % _BLOCK
        for start in range(0, whole, _BLOCK):
            yield joined[start : start + _BLOCK]
        held, size = [joined[whole:]], size - whole
    if size:
        yield b"".join(held)


def split_lines(texts: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the number (from 1) and the text of each line, without its end.

    Lines end with LF or CR LF, or with CR where a text has no LF at all. A CR inside a line means
    that it was drawn anew: what the last drawing of each kind said comes as a text of its own under
    the same number. So do the pieces of a line that is longer than `LONGEST`. Of many lines in a
    row that are short or equal only the first come.
    """
    flood, before = 0, ""
    for number, line in number_lines(texts):
        for part in drawings(line) if "\r" in line or "\x1b[" in line else (line,):
            if len(part) < SHORT or part == before:
                flood += 1
                if flood > MOST_SHORT:
                    continue
            else:
                flood, before = 0, part
            yield number, part


def number_lines(texts: Iterable[str], overlap: int = OVERLAP) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line as it stands.

    One that is longer than `LONGEST` comes in pieces, each with the last `overlap` characters of
    the piece before it.
    """
    number, held, only_cr = 1, "", None
    for block in texts:
        text = held + block
        if only_cr is None:
            only_cr = "\r" in text[:-1] and "\n" not in text
        if "\r" in text:
            text = text.replace("\r\n", "\n")
            text = text.replace("\r", "\n") if only_cr else text
        *lines, held = text.split("\n")
        for line in lines:
            if len(line) <= LONGEST:
                yield number, line
            else:
                yield from ((number, piece) for piece in _pieces(line, overlap))
            number += 1
        if len(held) > LONGEST:
            *pieces, held = _pieces(held, overlap)
            yield from ((number, piece) for piece in pieces)
    if held:
        yield number, held


def _pieces(line: str, overlap: int) -> Iterator[str]:
    """Yield a long line in pieces, cut at a blank where there is one near."""
    start = 0
    while len(line) - start > LONGEST:
        stop = start + LONGEST
        end = max(line.rfind(" ", stop - OVERLAP, stop), line.rfind("\r", stop - OVERLAP, stop))
        end = end if end > start else stop
        yield line[start:end]
        start = end - overlap
    yield line[start:]


def drawings(line: str) -> list[str]:
    """Return what a line showed: of drawings that differ in nothing but numbers the last."""
    if "\x1b[" in line:
        line = _REDRAWN.sub("\r", line)
    if "\r" not in line:
        return [line]
    parts = [part for part in line.split("\r") if part.strip()]
    kinds = [_NOT_LETTERS.sub("", part) for part in parts]
    return [
        part
        for place, part in enumerate(parts)
        if place + 1 == len(parts) or kinds[place] != kinds[place + 1]
    ] or [""]
