"""A paste as lines: decoded, cleaned, and joined where they were broken. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from flashdoctor.logs.clean import clean_line
from flashdoctor.logs.escapes import strip_escapes
from flashdoctor.logs.prefixes import worker_of
from flashdoctor.logs.text import decode, split_lines
from flashdoctor.logs.wraps import Shown, free_room, joined_lines
from flashdoctor.model.log import Line

MAX_TEXT = 16_384
"""Characters of a line's text."""

MAX_RAW = 2048
"""Characters that are kept of a line as it stood there."""

WINDOW = 4096
"""What lies further back in a line than this comes again, in lines of this length of their own, so
that whoever looks only at the start of a line sees all of it."""

_OVERLAP = 512
_BLOCK = 512


def read_lines(chunks: Iterable[bytes]) -> Iterator[Line]:
    """Yield the lines of a paste given as bytes, in order; memory does not grow with the paste.

    Several lines have the same number where a line holds several: the drawings of a progress bar,
    the lines inside a JSON entry, the pieces of a very long one, the name of the process that a
    collector put before it, and a line that seems to have been broken, which comes joined with its
    rest before it comes as it stands.
    """
    return read_parts([chunks])


def read_parts(parts: Iterable[Iterable[bytes]]) -> Iterator[Line]:
    """Yield the lines of several texts as one paste: each has its own encoding, numbers go on."""
    before = 0
    for chunks in parts:
        number, show = 0, _Show(before)
        lines = split_lines(decode(chunks))
        while block := list(islice(lines, _BLOCK)):
            yield from _block_lines([part for line in block for part in show(*line)])
            number = block[-1][0]
        before += number


class _Show:
    """Cleans lines one by one, with what the one before leaves to be known."""

    def __init__(self, before: int) -> None:
        self._before = before  # lines of the parts of the paste that came earlier
        self._worker = ""

    def __call__(self, number: int, raw: str) -> Iterator[Shown]:
        plain = strip_escapes(raw)
        said = clean_line(plain)
        number += self._before
        worker = worker_of(plain)
        if worker != self._worker:
            self._worker = worker
            if worker and not said[0].startswith(worker):
                yield Shown(number, raw, worker, 0)
        if len(said) > 1:
            yield from (Shown(number, raw, text, 0) for text in said)
        else:
            room = -1 if plain.isascii() else free_room(plain)
            yield Shown(number, raw, said[0], len(plain), room)


def _block_lines(shown: Sequence[Shown]) -> Iterator[Line]:
    joined = {place: (text, raw) for place, text, raw in joined_lines(shown)}
    for place, line in enumerate(shown):
        if place in joined:
            yield from _cut(line.number, *joined[place])
        if len(line.text) <= WINDOW and len(line.raw) <= MAX_RAW:
            yield Line(line.number, line.text, line.raw)
        else:
            yield from _cut(line.number, line.text, line.raw)


def _cut(number: int, text: str, raw: str) -> Iterator[Line]:
    yield Line(number, text[:MAX_TEXT], raw[:MAX_RAW])
    for start in range(WINDOW - _OVERLAP, len(text) - _OVERLAP, WINDOW - _OVERLAP):
        yield Line(number, text[start : start + WINDOW], raw[:MAX_RAW])
