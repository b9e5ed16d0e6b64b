"""The stack as layers, framework on top, with the joint at which it breaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from flashdoctor.render.html_markup import Markup, joined, tag, unseen
from flashdoctor.render.outline import Item
from flashdoctor.render.stack import ROWS, Part
from flashdoctor.render.style import Tone

_TOP_DOWN = (*reversed(ROWS[:-1]), ROWS[-1])  # the last row is the host, below everything
_ORDER = tuple(row.label for row in _TOP_DOWN)
_MARKS: Mapping[Tone, tuple[str, str]] = {
    "good": ("\u2713", "ok"),
    "error": ("\u2717", "broken"),
    "warning": ("!", "warning"),
    "info": ("", ""),
    "none": ("\u2013", "not there or not known"),
}
_TEETH = 40
_TITLES = 3
_BETWEEN = " \u00d7 "


class Break(NamedTuple):
    """A finding and the layers that it is about, the highest first. `number` counts from 1."""

    number: int
    item: Item
    labels: tuple[str, ...]

    @property
    def is_joint(self) -> bool:
        """Whether two layers do not fit, rather than one being broken in itself."""
        return len(self.labels) > 1


def stack_drawing(parts: Sequence[Part], items: Sequence[Item]) -> Markup:
    """Return the layers from the framework down to the host, as a list.

    What breaks between two layers is drawn below the upper one; what breaks in one, inside it.
    """
    shown = {part.label: part for part in parts}
    broken = list(_breaks(items, shown))
    lines: list[Markup] = []
    for label in _ORDER:
        if label in shown:
            here = [found for found in broken if found.labels[0] == label]
            lines.append(_layer(shown[label], [found for found in here if not found.is_joint]))
            lines += _joint([found for found in here if found.is_joint])
    return tag("ol", *lines, class_="stack")


def _breaks(items: Sequence[Item], shown: Mapping[str, Part]) -> Iterator[Break]:
    for number, item in enumerate(items, 1):
        if item.severity == "info" or item.crashed:
            continue
        named = _labels(item)
        labels = tuple(label for label in _ORDER if label in named and label in shown)
        if labels:
            yield Break(number, item, labels)


def _labels(item: Item) -> set[str]:
    """Return the layers that a finding's own layer and its evidence name."""
    facts = [quote.fact for quote in item.evidence if quote.fact]
    named = {row.label for row in ROWS for fact in facts if fact.startswith(row.prefixes)}
    return named | {row.label for row in ROWS if item.layer in row.layers}


def _layer(part: Part, inside: Sequence[Break]) -> Markup:
    mark, word = _MARKS[part.tone]
    return tag(
        "li",
        tag(
            "div",
            tag("span", mark, class_="mark", aria_hidden="true"),
            tag("span", part.label, unseen(f" ({word}): "), class_="name"),
            tag("span", part.text),
            class_=f"layer {part.tone}",
        ),
        tag("div", *_told(inside), class_=f"joint inner {_tone(inside)}") if inside else None,
    )


def _joint(found: Sequence[Break]) -> list[Markup]:
    if not found:
        return []
    words = unseen(f"Broken joint below {found[0].labels[0]}: ")
    return [tag("li", _crack(), words, *_told(found), class_=f"joint {_tone(found)}")]


def _tone(found: Sequence[Break]) -> str:
    return "error" if any(each.item.severity == "error" for each in found) else "warning"


def _told(found: Sequence[Break]) -> Iterator[Markup]:
    """Yield a line for each finding; of more than three, the others by number alone."""
    for each in found[:_TITLES]:
        between = f" {_BETWEEN.join(each.labels)}:" if each.is_joint else ""
        link = tag("a", each.item.id or "finding", href=f"#finding-{each.number}")
        yield tag("p", link, f"{between} {each.item.title}")
    rest = found[_TITLES:]
    if rest:
        links = [
            joined(" ", tag("a", each.item.id or "finding", href=f"#finding-{each.number}"))
            for each in rest
        ]
        yield tag("p", f"and {len(rest)} more:", *links)


def _crack() -> Markup:
    """Return a zigzag over the whole width."""
    points = " ".join(f"{x * 4} {1 if x % 2 else 9}" for x in range(_TEETH + 1))
    path = tag("path", d=f"M {points}")
    size = f"0 0 {_TEETH * 4} 10"
    return tag("svg", path, viewBox=size, preserveAspectRatio="none", aria_hidden="true")
