"""Findings as articles: what is wrong, on what evidence, and what to do, ready to be copied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flashdoctor.model.finding import Question
from flashdoctor.render.html_markup import Markup, joined, source_link, tag, unseen
from flashdoctor.render.outline import Item, Outline, Quote

_SAFETY: Mapping[str, str] = {
    "safe": "Changes nothing that works.",
    "disruptive": "Replaces packages or drivers.",
    "manual": "The rest is to be done by hand.",
}


def findings_section(said: Outline) -> Markup:
    """Return what is missing for a verdict, the first finding, and what would tell more."""
    first = [_finding(number, said) for number in range(1, len(said.items[:1]) + 1)]
    return tag(
        "section",
        tag("h2", "Findings", id="findings"),
        tag("p", _nothing(said)) if said.verdict != "undetermined" and not first else None,
        *_notes(said),
        *first,
        *_asked(said.ask),
        aria_labelledby="findings",
    )


def _nothing(said: Outline) -> str:
    if not (said.passed or said.skipped):
        answered = "Each call was answered as it should be."
        return answered if said.command == "smoke" else "Nothing was found."
    counts = f"{len(said.passed)} passed, {len(said.skipped)} could not be judged"
    return f"No rule found a fault: {counts}."


def _notes(said: Outline) -> Iterator[Markup]:
    if not said.notes:
        return
    if said.verdict == "undetermined":
        yield tag("h3", "Why there is no verdict")
    yield tag("ul", *(tag("li", note) for note in said.notes), class_="plain")


def others_section(said: Outline) -> Markup | None:
    """Return the findings behind the first one."""
    if not said.items[1:]:
        return None
    cards = [_finding(number, said) for number in range(2, len(said.items) + 1)]
    title = tag("h2", f"More findings ({len(cards)})", id="more")
    return tag("section", title, *cards, aria_labelledby="more")


def _kicker(item: Item, said: Outline) -> Markup:
    """Return what a finding is among the others."""
    if item.crashed:
        return Markup("Rule crashed")
    if item.severity == "info":
        return Markup("For information")
    if item.follows:
        return joined("Follows from ", _link(item.follows, said.items))
    if said.command != "lint" and item.severity == said.items[0].severity:
        return Markup("Root cause")
    return Markup(item.severity.capitalize())


def _link(name: str, items: Sequence[Item]) -> Markup:
    for number, item in enumerate(items, 1):
        if item.id == name:
            return tag("a", name, href=f"#finding-{number}")
    return joined(name)


def _finding(number: int, said: Outline) -> Markup:
    item = said.items[number - 1]
    title = f"finding-{number}-title"
    return tag(
        "article",
        tag("p", _kicker(item, said), class_="kicker"),
        tag("h3", item.title or item.name or "A finding", id=title),
        tag("p", *_meta(item), class_="quiet"),
        tag("p", item.detail) if item.detail else None,
        *_evidence(item.evidence),
        *_fix(item),
        *_sources(item.sources),
        id=f"finding-{number}",
        class_=item.severity,
        aria_labelledby=title,
        data_rule=item.id,
        data_severity=item.severity,
    )


def _meta(item: Item) -> Iterator[Markup]:
    """Yield the finding's id, weight, name and place."""
    place = f"{item.place.name}, line {item.place.line}" if item.place.line else item.place.name
    parts = (
        item.severity,
        item.certainty,
        "fails the run" if item.blocks else "",
        item.name,
        f"layer {item.layer}" if item.layer else "",
        place if item.place.is_file else "",
    )
    yield tag("code", item.id)
    yield joined(*(f" \u00b7 {part}" for part in parts if part))


def _evidence(quotes: Sequence[Quote]) -> Iterator[Markup]:
    if quotes:
        yield tag("h4", "Evidence")
        rows = [tag("tr", tag("th", _name(quote), scope="row"), _value(quote)) for quote in quotes]
        yield tag("table", tag("tbody", *rows))


def _name(quote: Quote) -> str:
    return quote.label or (f"line {quote.line}" if quote.line else "quoted")


def _value(quote: Quote) -> Markup:
    where = quote.where if quote.where != _name(quote) else ""
    source = tag("span", where, class_="quiet") if where else None
    return tag("td", tag("code", quote.text), joined(" ", source) if source else None)


def _fix(item: Item) -> Iterator[Markup]:
    if not (item.advice or item.commands):
        return
    yield tag("h4", "Fix")
    if item.advice:
        yield tag("p", item.advice)
    yield from (command(text, f"for {item.id}") for text in item.commands)
    if item.commands:
        yield tag("p", _SAFETY.get(item.safety, item.safety), class_="quiet")


def command(text: str, what: str) -> Markup:
    """Return a command with a button that copies it, which only the script shows."""
    button = tag("button", "Copy", unseen(f" the command {what}"), type_="button", class_="copy",
                 hidden=True)  # fmt: skip
    return tag("div", tag("code", text), button, class_="command")


def _sources(sources: Sequence[str]) -> Iterator[Markup]:
    if sources:
        yield tag("h4", "Sources")
        yield tag("ul", *(tag("li", source_link(text)) for text in sources), class_="plain quiet")


def _asked(questions: Sequence[Question]) -> Iterator[Markup]:
    if questions:
        yield tag("h3", "What would tell more")
        for question in questions:
            yield command(question.command, "that would tell more")
            yield tag("p", f"{question.why[:1].upper()}{question.why[1:]}.", class_="quiet")
