"""A report as one page that needs nothing else: to open, to search, to print and to send on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flashdoctor.model.finding import Report, Verdict
from flashdoctor.model.lint import LintReport
from flashdoctor.model.smoke import SmokeReport
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.render.clean import defuse
from flashdoctor.render.context import PLAIN, Context
from flashdoctor.render.html_facts import facts_of, facts_section
from flashdoctor.render.html_findings import findings_section, others_section
from flashdoctor.render.html_kernels import kernels_section, timings
from flashdoctor.render.html_markup import Markup, joined, tag
from flashdoctor.render.html_page import page
from flashdoctor.render.html_stack import stack_drawing
from flashdoctor.render.outline import AnyReport, Other, Outline, outline
from flashdoctor.render.places import place_of
from flashdoctor.render.stack import Part, stack_parts
from flashdoctor.render.style import Style, Tone

_TONES: Mapping[Verdict, Tone] = {
    "pass": "good",
    "warn": "warning",
    "fail": "error",
    "undetermined": "warning",
}


def render(report: AnyReport, _style: Style, context: Context = PLAIN) -> str:
    """Return the page: verdict, findings, stack, kernels, facts, and what was not judged."""
    said = outline(report, context)
    facts = facts_of(report)
    sections: dict[str, Markup | None] = {
        "findings": findings_section(said),
        "stack": _stack(_parts(report, said, facts), said),
        "more": others_section(said),
        "launches": _launches(said) if isinstance(report, LintReport) else None,
        "kernels": kernels_section(timings(report, facts)),
        "facts-title": facts_section(facts, said.items),
        "skipped-title": _skipped(said),
        "passed-title": _passed(said.passed),
    }
    shown = {name: section for name, section in sections.items() if section}
    title = f"flashdoctor {said.command}: {said.verdict}"
    text = page(
        title,
        *_header(said, context, shown),
        tag("main", *shown.values(), class_=_columns(shown)),
        tag("footer", tag("p", said.footer, class_="quiet")),
        tag("p", id="said", class_="unseen", role="status"),
        verdict=said.verdict,
        exit_code=said.exit_code,
    )
    return "".join(f"{defuse(line)}\n" for line in text.splitlines())


def _header(said: Outline, context: Context, shown: Mapping[str, object]) -> Iterator[Markup]:
    yield tag("a", "Skip to the findings", href="#findings", class_="skip")
    headline = said.headline or f"flashdoctor {said.command}"
    badge = tag("span", said.verdict.upper(), class_="badge")
    box = tag("div", badge, tag("h1", headline), tag("p", _run(said, context), class_="quiet"),
              class_=f"verdict {_TONES[said.verdict]}")  # fmt: skip
    links = [tag("li", tag("a", _NAMES[name], href=f"#{name}")) for name in shown]
    yield tag("header", box, tag("nav", tag("ul", *links), aria_label="Sections"))


_NAMES: Mapping[str, str] = {
    "findings": "Findings",
    "stack": "Stack",
    "more": "More findings",
    "launches": "Launches",
    "kernels": "Kernels",
    "facts-title": "Facts",
    "skipped-title": "Skipped",
    "passed-title": "Passed",
}


def _columns(shown: Mapping[str, object]) -> str | None:
    """Return how wide screens lay out the page: the stack beside the findings, if there is one."""
    if "stack" not in shown:
        return None
    return "two long" if "more" in shown else "two"


def _run(said: Outline, context: Context) -> str:
    """Return which command judged what, and how it ended."""
    judged = f" of {place_of((), context, '').name}" if context.source else ""
    return f"flashdoctor {said.command}{judged}, exit code {said.exit_code}"


def _parts(report: AnyReport, said: Outline, facts: Snapshot) -> Sequence[Part]:
    """Return the parts of the stack; what a smoke run knows of it stands in its facts."""
    if isinstance(report, Report):
        return said.parts
    if isinstance(report, LintReport):
        return ()
    return _smoke_parts(report, facts)


def _smoke_parts(report: SmokeReport, facts: Snapshot) -> Sequence[Part]:
    known = Report(
        verdict=report.verdict,
        exit_code=report.exit_code,
        snapshot=facts,
        findings=report.findings,
    )
    return stack_parts(known)


def _stack(parts: Sequence[Part], said: Outline) -> Markup | None:
    if not parts:
        return None
    title = tag("h2", "The stack, from framework to driver", id="stack")
    return tag("section", title, stack_drawing(parts, said.items), class_="drawing",
               aria_labelledby="stack")  # fmt: skip


def _launches(said: Outline) -> Markup | None:
    rows = [tag("tr", tag("th", p.label, scope="row"), tag("td", p.text)) for p in said.parts]
    if not rows:
        return None
    title = tag("h2", "Launches that were looked at", id="launches")
    table = tag("table", tag("tbody", *rows), aria_labelledby="launches")
    return tag("section", title, table, class_="wide", aria_labelledby="launches")


def _skipped(said: Outline) -> Markup | None:
    """Return which rules could not be judged, and why; unfolded where that is the verdict."""
    if not said.skipped:
        return None
    rows = [
        tag("tr", tag("th", _rule(one), scope="row"), tag("td", one.reason)) for one in said.skipped
    ]
    head = tag("tr", tag("th", "Rule", scope="col"), tag("th", "Why", scope="col"))
    title = tag("h2", f"Skipped rules ({len(rows)})", id="skipped-title")
    body = tag("table", tag("thead", head), tag("tbody", *rows), id="skipped",
               aria_labelledby="skipped-title")  # fmt: skip
    folded = tag("details", tag("summary", title), body, open=said.verdict == "undetermined")
    return tag("section", folded, class_="wide", aria_labelledby="skipped-title")


def _passed(rules: Sequence[Other]) -> Markup | None:
    if not rules:
        return None
    title = tag("h2", f"Passed rules ({len(rules)})", id="passed-title")
    names = tag("ul", *(tag("li", _rule(one)) for one in rules), class_="columns")
    return tag("section", tag("details", tag("summary", title), names), class_="wide",
               aria_labelledby="passed-title")  # fmt: skip


def _rule(one: Other) -> Markup:
    return joined(tag("code", one.id), f" {one.name}" if one.name else None)
