"""What attention really ran, as a chart of times and of memory, each bar beside its number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from flashdoctor.model.finding import Report
from flashdoctor.model.scrub import scrub_text
from flashdoctor.model.smoke import Case, SmokeCase, SmokeReport
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.render.clean import clean
from flashdoctor.render.html_markup import Markup, joined, tag, unseen
from flashdoctor.render.kernel_names import short_name
from flashdoctor.render.outline import VALUE_LIMIT, AnyReport
from flashdoctor.render.smoke_table import gain_text, mark_of, reason_text, time_text
from flashdoctor.render.style import Tone
from flashdoctor.render.values import memory

_WIDTH = 1000
_MARKS: Mapping[Tone, str] = {"good": "\u2713", "error": "\u2717", "warning": "!"}


class Timing(NamedTuple):
    """One call of attention: what ran, `ms`, `peak_mib`, times faster than math; or why not.

    `shape`: sizes, type and direction; only calls that share it can be compared.
    """

    label: str
    status: str
    family: str
    kernel: str
    tone: Tone
    ms: float | None = None
    peak_mib: float | None = None
    gain: float | None = None
    reason: str = ""
    shape: str = ""


def timings(report: AnyReport, facts: Snapshot) -> list[Timing]:
    """Return the calls of a smoke run, or those that a check has made."""
    if isinstance(report, SmokeReport):
        return [_of_case(item) for item in report.cases]
    cases = facts.value("smoke.cases") if isinstance(report, Report) else None
    records = cases if isinstance(cases, list) else []
    return [_of_record(item) for item in records if isinstance(item, Mapping)]


def _of_case(item: SmokeCase) -> Timing:
    mark, color = mark_of(item)
    return Timing(
        label=_line(item.case.label),
        status=item.status,
        family=_line(item.family or ""),
        kernel=_line(item.kernel or ""),
        tone=mark if mark == color else "none",
        ms=_number(item.ms),
        peak_mib=_number(item.peak_mib),
        gain=_number(item.gain_over_math),
        reason="" if item.proven else _line(reason_text(item)),
        shape=_shape(item.case),
    )


def _shape(case: Case) -> str:
    sizes = case.shape
    tokens = f"{sizes.q_len}" if sizes.q_len == sizes.kv_len else f"{sizes.q_len} to {sizes.kv_len}"
    heads = f"{sizes.heads}" if sizes.heads == sizes.kv_heads else f"{sizes.heads}/{sizes.kv_heads}"
    text = f"{sizes.batch} x {tokens} tokens, {heads} heads of {sizes.head_dim}, {case.dtype}"
    return _line(text if case.direction == "forward" else f"{text}, {case.direction}")


def _of_record(item: Mapping[str, Any]) -> Timing:
    def text(key: str) -> str:
        return _line(str(item.get(key) or ""))

    expected = item.get("proven") is True or item.get("as_expected") is True
    return Timing(
        label=text("name"),
        status=text("status"),
        family=text("family"),
        kernel=text("kernel"),
        tone="good" if expected else "none",
        ms=_number(item.get("ms")),
        gain=_number(item.get("gain")),
        reason="" if item.get("proven") is True else text("reason"),
    )


def _number(value: Any) -> float | None:
    """Return a number that can be drawn."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < _LARGEST and math.isfinite(value) and value >= 0 else None


_LARGEST = 1e15


def _line(text: str) -> str:
    return clean(scrub_text(text), VALUE_LIMIT)


def kernels_section(shown: Sequence[Timing]) -> Markup | None:
    """Return a table with a row for each call; its bars are as long as the numbers are large."""
    if not shown:
        return None
    most = _most(shown)
    has_memory = any(one.peak_mib for one in shown)
    rows = [
        tag("tr", _called(one), tag("td", *_measured(one, most[one.shape], has_memory=has_memory)))
        for one in shown
    ]
    head = tag("tr", tag("th", "Call", scope="col"), tag("th", "Measured", scope="col"))
    of_shape = " of the same sizes" if len(most) > 1 else ""
    note = f"Bars compare calls{of_shape}, shorter is better; a call without a time says why."
    return tag(
        "section",
        tag("h2", "Kernels that ran", id="kernels"),
        tag("p", note, class_="quiet"),
        tag("table", tag("thead", head), tag("tbody", *rows), aria_labelledby="kernels"),
        class_="wide",
        aria_labelledby="kernels",
    )


class Most(NamedTuple):
    """What the longest bars of some calls stand for."""

    ms: float
    mib: float


def _most(shown: Sequence[Timing]) -> dict[str, Most]:
    most: dict[str, Most] = {}
    for one in shown:
        before = most.get(one.shape, Most(0, 0))
        most[one.shape] = Most(max(before.ms, one.ms or 0), max(before.mib, one.peak_mib or 0))
    return most


def _called(one: Timing) -> Markup:
    said = ", ".join(part for part in (one.status, one.family) if part)
    mark = tag("span", _MARKS.get(one.tone, "\u2013"), " ", class_=f"tone {one.tone}",
               aria_hidden="true")  # fmt: skip
    shape = tag("span", one.shape, class_="quiet") if one.shape else None
    return tag("th", mark, one.label, tag("span", said, class_="quiet"), shape, scope="row")


def _measured(one: Timing, most: Most, *, has_memory: bool) -> Iterator[Markup]:
    if one.ms is not None or one.peak_mib is not None:
        gain = f", {gain_text(one.gain)} math" if one.gain is not None else ""
        time = [_bar(one.ms, most.ms, "bar"), tag("span", f"{time_text(one.ms)} ms{gain}")]
        peak: list[Markup] = []
        if one.peak_mib is not None:
            bar = _bar(one.peak_mib, most.mib, "bar memory")
            peak = [bar, tag("span", f"{memory(round(one.peak_mib, 1))} at its peak")]
        yield tag("div", tag("div", *time), tag("div", *peak) if peak else None,
                  class_="bars two" if has_memory else "bars")  # fmt: skip
    if one.reason:
        yield tag("p", one.reason)
    if one.kernel:
        name = tag("code", short_name(one.kernel, VALUE_LIMIT))
        yield tag("p", joined(unseen("kernel "), name), class_="quiet")


def _bar(value: float | None, most: float, kind: str) -> Markup:
    share = (value or 0) / most if most else 0
    width = max(round(share * _WIDTH), 1 if value else 0)
    rect = tag("rect", width=width, height=10)
    return tag("svg", rect, class_=kind, viewBox=f"0 0 {_WIDTH} 10", preserveAspectRatio="none",
               aria_hidden="true")  # fmt: skip
