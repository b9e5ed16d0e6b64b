"""What trials on the GPU gave: a bar for each, and what was predicted beside what was real."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flashdoctor.model.scrub import scrub_text
from flashdoctor.model.trial import Measured, Outcome
from flashdoctor.render.clean import clean
from flashdoctor.render.html_markup import Markup, tag
from flashdoctor.render.tune_text import compared_rows, conclusions, peak_note, workload_line

_WIDTH = 1000
_LIMIT = 1000


def trials_section(measured: Measured) -> Markup:
    """Return the trials with their bars; longer is better."""
    most = max((one.output_tps or 0.0 for one in measured.outcomes), default=0.0)
    base = next((one.output_tps for one in measured.outcomes if one.ran), None)
    rows = [_trial(one, most, base) for one in measured.outcomes]
    head = tag("tr", tag("th", "Trial", scope="col"), tag("th", "Output tokens a second",
               scope="col"))  # fmt: skip
    return tag(
        "section",
        tag("h2", "Measured", id="measured"),
        tag("p", workload_line(measured), class_="quiet"),
        tag("table", tag("thead", head), tag("tbody", *rows), aria_labelledby="measured"),
        *(tag("p", clean(said, _LIMIT)) for said in conclusions(measured)),
        *_compared(measured),
        class_="wide",
        aria_labelledby="measured",
    )


def _trial(one: Outcome, most: float, base: float | None) -> Markup:
    name = tag("th", clean(one.trial.name), tag("span", clean(one.trial.why), class_="quiet"),
               scope="row")  # fmt: skip
    return tag("tr", name, tag("td", *_figures(one, most, base), _settings(one.trial.settings)))


def _figures(one: Outcome, most: float, base: float | None) -> Iterator[Markup]:
    if not one.ran or one.output_tps is None:
        why = clean(scrub_text(one.cause or one.error), _LIMIT)
        yield tag("p", one.status + (f": {why}" if why else ""))
        return
    width = round(_WIDTH * one.output_tps / most) if most else 0
    rect = tag("rect", width=width, height=10)
    yield tag("svg", rect, class_="bar", viewBox=f"0 0 {_WIDTH} 10", preserveAspectRatio="none",
              aria_hidden="true")  # fmt: skip
    gain = f", {one.output_tps / base:.2f} x the defaults" if base else ""
    yield tag("p", f"{one.output_tps:,.0f}{gain}")
    yield tag("p", _times(one), class_="quiet")


def _times(one: Outcome) -> str:
    parts = {"first token": one.ttft_ms, "next": one.tpot_ms}
    said = [f"{name} {value:.1f} ms" for name, value in parts.items() if value is not None]
    if one.start_s is not None:
        said.append(f"start {one.start_s:.0f} s")
    if one.gpu_use is not None:
        said.append(f"peak {one.gpu_use.rise_gib:.1f} GiB")
    return ", ".join(said)


def _settings(settings: Mapping[str, Any]) -> Markup:
    text = " ".join(f"{name}={value}" for name, value in settings.items())
    return tag("p", tag("code", clean(text, _LIMIT)), class_="quiet")


def _compared(measured: Measured) -> Iterator[Markup]:
    if not measured.compared:
        return
    head, *rows = compared_rows(measured)
    yield tag("h3", "Predicted against real, of what was chosen", id="compared")
    yield tag(
        "table",
        tag("thead", tag("tr", *(tag("th", name or "Figure", scope="col") for name in head))),
        tag("tbody", *(_sizes(row) for row in rows)),
        class_="sizes four",
        aria_labelledby="compared",
    )
    yield tag("p", clean(peak_note(measured), _LIMIT), class_="quiet")


def _sizes(row: tuple[str, ...]) -> Markup:
    name, *sizes = row
    return tag("tr", tag("th", name, scope="row"), *(tag("td", size) for size in sizes))
