"""Where a finding stands: a line of the text that was judged, or of the file that asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from flashdoctor.model.finding import Evidence
from flashdoctor.model.regex import regex
from flashdoctor.model.scrub import scrub_path
from flashdoctor.render.clean import clean
from flashdoctor.render.context import Context

_PLACE = regex(r"\bline (\d{1,9})$")


class Place(NamedTuple):
    """A file, or a stable name where there is none, and a line from 1 on where it is known.

    `is_file`: whether a reader could open it.
    """

    name: str
    line: int | None = None
    is_file: bool = False


def place_of(
    evidence: Sequence[Evidence], context: Context, stable: str, *, line: int | None = None
) -> Place:
    """Return the first place that the evidence tells; `line` where it is known already.

    Where nothing tells one, that is the file that was judged, else the name `stable`.
    """
    found = line or next(_lines(evidence, context.lines), None)
    if found is None:
        for item in evidence:
            pin = context.pins.get((item.fact or "").partition(".")[0])
            if pin:
                return Place(_shown(pin[0]), pin[1], is_file=True)
    name = context.source or stable
    return Place(_shown(name), found and max(found, 1), is_file=bool(context.source))


def _lines(evidence: Sequence[Evidence], lines: Mapping[str, int]) -> Iterator[int]:
    for item in evidence:
        stated = _PLACE.search(item.where)
        if item.fact is None and item.line is not None:
            yield item.line
        elif item.fact is not None and item.fact in lines:
            yield lines[item.fact]
        elif stated:
            yield int(stated[1])


def _shown(name: str) -> str:
    return clean(scrub_path(name), 300)
