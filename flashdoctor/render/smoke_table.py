"""The table of a smoke run: asked, ran, kernel, ms, gains; a reason where there is no proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from flashdoctor.model.smoke import SmokeCase
from flashdoctor.render.clean import clean
from flashdoctor.render.kernel_names import clip, short_name
from flashdoctor.render.layout import GAP, cells, pad, wrap
from flashdoctor.render.style import Style, Tone

_ASKED = 23
_KERNEL = 23  # flash::flash_fwd_kernel; in fewer columns it gets a line of its own
_RAN = 13  # mem-efficient
_WIDE = 100
_LARGE = 100
_LARGE_GAIN = 10
_BETWEEN = " " * GAP
_FAILED: dict[str, Tone] = {
    "wrong": "error", "died": "error", "timeout": "error", "error": "error",
    "refused": "warning", "other": "warning",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Widths of the columns; `kernel` is 0 where it gets lines of its own. `numbers` by heading."""

    asked: int
    ran: int
    kernel: int
    numbers: dict[str, int]
    style: Style

    @property
    def right(self) -> int:
        """The columns that are left behind `ran`."""
        return self.style.columns - 2 - self.asked - self.ran - 2 * GAP


def table_lines(cases: Sequence[SmokeCase], style: Style) -> list[str]:
    """Return the head and a row for each case, some of more than one line."""
    if not cases:
        return []
    layout = _layout(cases, style)
    return [_head(layout), *(line for item in cases for line in _row(item, layout))]


def _layout(cases: Sequence[SmokeCase], style: Style) -> _Layout:
    wide = style.columns >= _WIDE
    numbers = {"ms": 5, "over math": 9, "over default": 12} if wide else {"ms": 5, "gain": 6}
    asked = min(max(cells(clean(item.case.label)) for item in cases), 36 if wide else _ASKED)
    ran = max(3, *(cells(_ran(item)) for item in cases))
    rest = style.columns - 2 - asked - ran - sum(numbers.values()) - GAP * (2 + len(numbers))
    longest = max(len("kernel"), *(len(short_name(item.kernel or "")) for item in cases))
    kernel = min(rest, longest) if rest >= min(_KERNEL, longest) else 0
    return _Layout(asked=asked, ran=ran, kernel=kernel, numbers=numbers, style=style)


def _head(layout: _Layout) -> str:
    names = [pad("asked", layout.asked), pad("ran", layout.ran)]
    names += [pad("kernel", layout.kernel)] if layout.kernel else []
    names += [name.rjust(width) for name, width in layout.numbers.items()]
    return "  " + _BETWEEN.join(names)


def _row(item: SmokeCase, layout: _Layout) -> Iterator[str]:
    """Yield a row: its label wraps in its column, a reason in what is left of the line."""
    mark, color = mark_of(item)
    style = layout.style
    labels = wrap(clean(item.case.label), layout.asked)
    told = (
        wrap(reason_text(item), layout.right) if _is_explained(item) else [_measured(item, layout)]
    )
    for place, (label, text) in enumerate(zip_longest(labels, told, fillvalue="")):
        first = place == 0
        start = style.paint(color, style.mark(mark)) if first else " "
        ran = pad(_ran(item) if first else "", layout.ran)
        yield _BETWEEN.join([f"{start} {pad(label, layout.asked)}", ran, text]).rstrip()
    if item.kernel and not layout.kernel and not _is_explained(item):
        yield "    " + clip(short_name(item.kernel), style.columns - 4)


def _is_explained(item: SmokeCase) -> bool:
    """Whether words stand in place of a kernel and its time."""
    told = item.reasons or item.inference or item.status == "wrong"
    return not item.proven and (item.ms is None or bool(told))


def _measured(item: SmokeCase, layout: _Layout) -> str:
    values = {
        "ms": time_text(item.ms),
        "gain": gain_text(item.gain_over_math),
        "over math": gain_text(item.gain_over_math),
        "over default": gain_text(item.gain_over_default),
    }
    kernel = short_name(item.kernel or "-", layout.kernel)
    parts = [pad(kernel, layout.kernel)] if layout.kernel else []
    return _BETWEEN.join([*parts, *(values[k].rjust(n) for k, n in layout.numbers.items())])


def mark_of(item: SmokeCase) -> tuple[Tone, Tone]:
    """Return the tone of a case's mark and of its colour: a refusal that is due has no colour."""
    if item.proven:
        return "good", "good"
    if item.as_expected:
        return "error", "none"
    tone = _FAILED.get(item.status, "none")
    return tone, tone


def _ran(item: SmokeCase) -> str:
    shown = item.status in {"proven", "other"} and item.family
    return clip(clean(item.family or ""), _RAN) if shown else item.status


def reason_text(item: SmokeCase) -> str:
    """Return why a case ended as it did: the reason, else what was said, else what it may mean."""
    if item.reasons:
        return clean(item.reasons[0].text)
    if item.inference:
        took = f", {time_text(item.ms)} ms" if item.ms is not None else ""
        return clean(item.inference) + took
    return clean(item.messages[0]) if item.messages else ""


def time_text(ms: float | None) -> str:
    """Return milliseconds with as many digits as mean something."""
    if ms is None:
        return "-"
    return f"{ms:.2f}" if ms < _LARGE else f"{ms:.0f}"


def gain_text(gain: float | None) -> str:
    """Return `32 x`, `1.5 x`, `0.04 x`."""
    if gain is None:
        return "-"
    if gain >= _LARGE_GAIN:
        return f"{gain:.0f} x"
    return f"{gain:.1f} x" if gain >= 1 else f"{gain:.2g} x"
