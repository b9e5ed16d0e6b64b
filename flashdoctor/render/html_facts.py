"""Everything that is known, as a table that a script may filter and that needs none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flashdoctor.model.facts import Fact, known
from flashdoctor.model.finding import Report
from flashdoctor.model.lint import LintReport
from flashdoctor.model.redaction import redact_snapshot
from flashdoctor.model.smoke import SmokeReport
from flashdoctor.model.snapshot import Snapshot, of
from flashdoctor.render.clean import clean
from flashdoctor.render.html_markup import Markup, joined, tag
from flashdoctor.render.outline import TEXT_LIMIT, AnyReport, Item
from flashdoctor.render.values import label, state_text

_PACKAGES: Mapping[str, str] = {
    "flash-attn": "flash_attn.version",
    "flash-attn-3": "flash_attn_3.version",
    "flash-attn-4": "flash_attn_4.version",
    "vLLM": "vllm.version",
    "transformers": "transformers.version",
}


def facts_of(report: AnyReport) -> Snapshot:
    """Return what a report of any command knows, redacted."""
    return redact_snapshot(_stated(report))


def _stated(report: AnyReport) -> Snapshot:
    if isinstance(report, Report):
        return report.snapshot
    if isinstance(report, SmokeReport):
        return of(_smoke_facts(report))
    return of(_lint_facts(report))


def _smoke_facts(report: SmokeReport) -> Iterator[Fact]:
    values = {
        "gpu.name": report.started.device,
        "gpu.compute_capability": report.started.capability,
        "torch.version": report.started.torch,
        "python.executable": report.where,
        **{path: report.versions.get(name, "") for name, path in _PACKAGES.items()},
    }
    for path, value in values.items():
        if value:
            yield known(path, value, "the Python that was tried")


def _lint_facts(report: LintReport) -> Iterator[Fact]:
    for launch in report.launches[:1]:
        yield known("vllm.version", launch.engine.version, launch.engine.named_by)


def facts_section(snapshot: Snapshot, items: Sequence[Item]) -> Markup | None:
    """Return every fact with its source, and the findings that it is evidence of."""
    rows = [_row(fact, snapshot, items) for fact in snapshot]
    if not rows:
        return None
    head = tag("tr", tag("th", "Fact", scope="col"), tag("th", "Value and source", scope="col"))
    table = tag(
        "table", tag("thead", head), tag("tbody", *rows), id="facts", aria_labelledby="facts-title"
    )
    return tag(
        "section",
        tag("h2", f"Facts ({len(rows)})", id="facts-title"),
        _filter(),
        table,
        class_="wide",
        aria_labelledby="facts-title",
    )


def _filter() -> Markup:
    """Return the search field, which is only shown where the script runs."""
    return tag(
        "div",
        tag("label", "Filter", for_="filter"),
        tag(
            "input", id="filter", type_="search", autocomplete="off", spellcheck="false",
            aria_controls="facts",
        ),
        tag("span", id="count", class_="quiet", role="status"),
        class_="filter",
        role="search",
        hidden=True,
    )  # fmt: skip


def _row(fact: Fact, snapshot: Snapshot, items: Sequence[Item]) -> Markup:
    path = tag("code", _line(fact.path), class_="quiet")
    name = tag("th", label(fact.path), joined(" ", path), _evidence_of(fact.path, items),
               scope="row")  # fmt: skip
    text = "absent" if fact.state == "absent" else state_text(fact, full=True)
    value = tag(
        "span", tag("span", _line(text), class_=f"is-{fact.state}"), *_others(fact, snapshot)
    )
    source = tag("span", _line(fact.source), class_="quiet") if fact.source else None
    return tag("tr", name, tag("td", tag("div", value, joined(" ", source), class_="pair")))


def _evidence_of(path: str, items: Sequence[Item]) -> Markup | None:
    """Return links to the findings that rest on a fact."""
    links = [
        joined(" ", tag("a", item.id or "finding", href=f"#finding-{number}"))
        for number, item in enumerate(items, 1)
        if any(quote.fact == path for quote in item.evidence)
    ]
    return tag("span", "evidence of", *links, class_="quiet") if links else None


def _others(fact: Fact, snapshot: Snapshot) -> Iterator[Markup]:
    """Yield what other sources say of it, and that is not believed."""
    for pair in snapshot.conflicts:
        if pair.kept.path == fact.path:
            told = f"not believed: {state_text(pair.dropped, full=True)} ({pair.dropped.source})"
            yield tag("span", _line(told), class_="quiet")


def _line(text: str) -> str:
    return clean(text, TEXT_LIMIT)
