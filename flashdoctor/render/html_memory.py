"""Where the memory of one GPU goes, as one bar of parts with their sizes below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flashdoctor.model.tuning import MemoryAccount
from flashdoctor.render.html_markup import Markup, tag

_WIDTH = 1000
_HEIGHT = 40
_COLOURS = {
    "weights": 1, "activations": 2, "CUDA and libraries": 3, "CUDA graphs": 4, "KV cache": 5,
    "other processes": 6, "free": 7,
}  # fmt: skip

_MAY_BE_NONE = frozenset({"CUDA graphs", "other processes"})


class Part(NamedTuple):
    """One part of the bar, in GiB; `colour` numbers a class of the style sheet."""

    name: str
    size: float
    colour: int


def memory_parts(memory: MemoryAccount) -> list[Part]:
    """Return the parts in the order of the bar; the last is what is free, if anything is."""
    sizes = memory.parts()
    if not memory.graphs_inside:  # behind what the budget pays for
        cache, graphs = sizes.pop("KV cache"), sizes.pop("CUDA graphs")
        sizes = {**sizes, "KV cache": cache, "CUDA graphs": graphs}
    others = sizes.pop("other processes")
    sizes |= {"other processes": others, "free": max(memory.left_gib, 0.0)}
    shown = {name: size for name, size in sizes.items() if size or name not in _MAY_BE_NONE}
    return [Part(name, size, _COLOURS[name]) for name, size in shown.items()]


def memory_section(memory: MemoryAccount, said: str) -> Markup:
    """Return the bar, its sizes, and `said`: what the KV cache comes to."""
    parts = memory_parts(memory)
    head = tag("tr", tag("th", "Part", scope="col"), tag("th", "Size", scope="col"),
               tag("th", "Share", scope="col"))  # fmt: skip
    rows = [_row(part, memory.total_gib) for part in parts]
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="sizes",
                aria_labelledby="memory")  # fmt: skip
    return tag(
        "section",
        tag("h2", "Memory of one GPU", id="memory"),
        _chart(parts, memory),
        tag("p", _budget(memory), class_="quiet"),
        table,
        *_over(memory),
        tag("p", said),
        class_="drawing",
        aria_labelledby="memory",
    )


def _budget(memory: MemoryAccount) -> str:
    graphs = "" if memory.graphs_inside else "; CUDA graphs come on top of that"
    return (
        f"Of {memory.total_gib:.1f} GiB vLLM may use {memory.budget_gib:.1f}, which the line"
        f" marks{graphs}."
    )


def _over(memory: MemoryAccount) -> Iterator[Markup]:
    if memory.left_gib < 0:
        yield tag("p", f"That is {-memory.left_gib:.1f} GiB more than the GPU has.")


def _row(part: Part, total: float) -> Markup:
    swatch = tag("svg", tag("rect", width=10, height=10, class_=f"part-{part.colour}"),
                 class_="swatch", viewBox="0 0 10 10", aria_hidden="true")  # fmt: skip
    share = 100 * part.size / total if total else 0.0
    return tag("tr", tag("th", swatch, part.name, scope="row"), tag("td", f"{part.size:.1f} GiB"),
               tag("td", f"{share:.1f} %"))  # fmt: skip


def _chart(parts: Sequence[Part], memory: MemoryAccount) -> Markup:
    whole = max(sum(part.size for part in parts), memory.total_gib, 1e-9)
    scale = _WIDTH / whole
    drawn, at = list[Markup](), 0.0
    for part in parts:
        width = part.size * scale
        if width > 0:
            drawn.append(tag("rect", x=f"{at:.2f}", width=f"{width:.2f}", height=_HEIGHT,
                             class_=f"part-{part.colour}"))  # fmt: skip
        at += width
    line = tag("path", d=f"M{memory.budget_gib * scale:.2f} 0V{_HEIGHT}")
    named = ", ".join(f"{part.name} {part.size:.1f} GiB" for part in parts)
    return tag("svg", *drawn, line, class_="chart", viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
               preserveAspectRatio="none", role="img", aria_label=named)  # fmt: skip
