"""A report for GitHub Actions: a workflow command a finding, which becomes an annotation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flashdoctor.model.rule import Severity
from flashdoctor.render import markdown
from flashdoctor.render.clean import break_markers, defuse
from flashdoctor.render.context import PLAIN, Context
from flashdoctor.render.outline import AnyReport, Item, Outline, outline
from flashdoctor.render.style import Style

_LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = {**_DATA, **str.maketrans({":": "%3A", ",": "%2C"})}


def render(report: AnyReport, _style: Style, context: Context = PLAIN) -> str:
    """Return the verdict as a plain line, then an annotation for each finding, worst first.

    A verdict that could not be had is an annotation too: it fails the step and needs its reason.
    """
    said = outline(report, context)
    lines = [defuse(f"{said.verdict.upper()}  {said.headline}")]
    if told := "\n".join(said.undetermined):
        title = "flashdoctor: nothing could be established"
        lines.append(annotation("error", told, {"title": title}))
    lines += [annotation(_LEVELS[item.severity], _told(item), _where(item)) for item in said.items]
    lines.append(defuse(_counts(said)))
    return "".join(f"{break_markers(line)}\n" for line in lines)


def summary(report: AnyReport, style: Style, context: Context = PLAIN) -> str:
    """Return what belongs into the summary of the job, in Markdown."""
    return markdown.render(report, style, context) + "\n"


def annotation(level: str, message: str, properties: Mapping[str, str]) -> str:
    """Return one workflow command in one line. Nothing in its parts can end it or start another."""
    shown = ",".join(f"{name}={text.translate(_PROPERTY)}" for name, text in properties.items())
    return f"::{level}{' ' if shown else ''}{shown}::{message.translate(_DATA)}"


def _where(item: Item) -> dict[str, str]:
    place: dict[str, str] = {}
    if item.place.is_file:
        place["file"] = item.place.name
        if item.place.line:
            place["line"] = str(item.place.line)
    return {**place, "title": f"{item.id} {item.title}"}


def _told(item: Item) -> str:
    return "\n".join(_parts(item)) or item.title


def _parts(item: Item) -> Iterator[str]:
    if item.detail:
        yield item.detail
    yield from (quote.shown() for quote in item.evidence)
    if item.follows:
        yield f"Follows from {item.follows}."
    if item.advice:
        yield item.advice
    yield from item.commands


def _counts(said: Outline) -> str:
    found = "1 finding" if len(said.items) == 1 else f"{len(said.items)} findings"
    judged = f", {len(said.passed)} passed, {len(said.skipped)} skipped"
    return f"{found}{judged if said.passed or said.skipped else ''}; {said.footer}"
