"""What a pasted text shows, for people: the root cause with its lines, the fix, what to ask."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from flashdoctor.model.catalog import FACTS
from flashdoctor.model.finding import Evidence, Finding, Question, Report
from flashdoctor.model.snapshot import Conflict, Snapshot
from flashdoctor.render.clean import LIMIT, clean, clean_command, defuse
from flashdoctor.render.findings import command_lines, conflict_lines, head_lines, origin_lines
from flashdoctor.render.folklore_text import pointer_lines
from flashdoctor.render.layout import GAP, cells, hang, indented, joined, pairs
from flashdoctor.render.stack import stack_lines, stack_text
from flashdoctor.render.style import Style, Tone
from flashdoctor.render.values import label, value_text

_BENIGN = "benign"
_HEALTHY = "benign-healthy-environment"
"""Its lines look like no fault: they are what made the text a healthy one."""

_LOGGED = re.compile(
    r"(?:\([^()]{1,60}pid=[^()]{1,60}\) )?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) [\d:., -]{8,30}"
    r"\[[^\]]{1,60}\] |\S{1,300}\.py:\d{1,6}: "
)
"""What a logger writes before what it says: the level, the time, the place."""

_FULL_LIMIT = 4000
_QUOTED = 60
_MOST_CAUSES = 5
_MOST_HARMLESS = 5
_ASK = "Ask for: "
_NUMBER_WIDTH = 5
_PLACE = re.compile(r"\bline \d+$")
_WORDS: Mapping[str, tuple[Tone, str]] = {
    "pass": ("good", "nothing in this text is wrong"),
    "warn": ("warning", "something in this text deserves a look"),
    "fail": ("error", "something in this text is wrong"),
    "undetermined": ("warning", "nothing in this text says what is wrong"),
}


def diagnosis_text(report: Report, style: Style) -> str:
    """Return the report as text that ends with a newline.

    First the verdict with the root cause, its lines and its fix; then other causes and harmless
    lines in a line each; at the end what to ask, and what the text told about the machine.
    """
    causes = [finding for finding in report.findings if finding.severity != "info"]
    leads = bool(causes) and report.verdict != "undetermined"
    lines = _headline(report, causes[0] if leads else None, style)
    if not style.quiet:
        rest = joined(_blocks(report, causes[leads:], style))
        lines += _body(causes[0], style) if leads else []
        lines += ["", *rest] if rest else []
    return "".join(defuse(line) + "\n" for line in lines)


def _headline(report: Report, root: Finding | None, style: Style) -> list[str]:
    tone, said = _WORDS[report.verdict]
    if report.verdict == "undetermined" and not (report.findings or report.snapshot.facts):
        said = "nothing in this text was recognised"
    word = report.verdict.upper()
    tag = ", ".join(part for part in (root.id, root.certainty) if part) if root else ""
    text = clean(root.title) if root else said
    first, *rest = hang(f"{word}  ", text, style.columns, tag=clean(tag))
    return [style.paint(tone, word) + first[len(word) :], *rest]


def _blocks(report: Report, causes: Sequence[Finding], style: Style) -> Iterator[list[str]]:
    shown = causes if style.verbose else causes[:_MOST_CAUSES]
    if style.verbose:
        yield from ([*head_lines(item, style), *_body(item, style)] for item in shown)
    else:
        yield [line for item in shown for line in _brief(item, style)]
    if len(causes) > len(shown):
        yield indented(f"and {len(causes) - len(shown)} more (--verbose)", style.columns, 2)
    yield _harmless(report.findings, style)
    yield conflict_lines(_shown_conflicts(report.snapshot.conflicts, style), style)
    yield [line for item in report.ask for line in _question(item, style)]
    yield pointer_lines(report.folklore, style)
    yield _machine(report, style)


def _body(finding: Finding, style: Style) -> list[str]:
    """Return what bears a cause out, and what to do."""
    limit = _FULL_LIMIT if style.verbose else LIMIT
    lines: list[str] = []
    for is_quote, items in groupby(finding.evidence, lambda item: item.fact is None):
        if is_quote:
            lines += [line for item in items for line in _quote(item, limit, style)]
        else:
            lines += pairs([_fact(item, style) for item in items], style.columns, 4)
    lines += indented(clean(finding.detail, limit), style.columns, 4) if finding.detail else []
    if finding.fix.text:
        lines += indented(clean(finding.fix.text, _FULL_LIMIT), style.columns, 2)
    lines += command_lines(finding.fix.commands)
    return lines + (origin_lines(finding, style) if style.verbose else [])


def _quote(item: Evidence, limit: int, style: Style) -> list[str]:
    number = "" if item.line is None else str(item.line)
    return hang(f"  {number:>{_NUMBER_WIDTH}} | ", clean(str(item.value), limit), style.columns)


def _fact(item: Evidence, style: Style) -> tuple[str, str]:
    path = item.fact or ""
    text = value_text(path, item.value, full=style.verbose)
    place = _PLACE.search(item.where)
    where = item.where if style.verbose or place is None else place[0]
    shown = where if style.verbose or place else ""
    return label(path), f"{text}  ({clean(shown)})" if shown else text


def _brief(finding: Finding, style: Style) -> list[str]:
    """Return a cause that is not the first: its title, and the first line that says so."""
    lines = head_lines(finding, style)
    quotes = [item for item in finding.evidence if item.fact is None]
    return lines + (_quote(quotes[0], LIMIT // 2, style) if quotes else [])


def _harmless(findings: Sequence[Finding], style: Style) -> list[str]:
    """Return the lines that look like a fault and are none; other infos only where asked for."""
    lines: list[str] = []
    infos = [item for item in findings if item.severity == "info"]
    benign = [item for item in infos if item.layer == _BENIGN and item.cause != _HEALTHY]
    for finding in benign if style.verbose else benign[:_MOST_HARMLESS]:
        quote = next((item for item in finding.evidence if item.fact is None), None)
        said = clean(_message(str(quote.value)), _QUOTED) if quote else clean(finding.title)
        place = f"line {quote.line} " if quote else ""
        text = f'{place}"{said}" is harmless here.'
        lines += hang(f"{style.mark('info')} ", text, style.columns)
    if style.verbose:
        others = [item for item in infos if item.layer != _BENIGN]
        lines += [line for item in others for line in head_lines(item, style)]
    return lines


def _message(text: str) -> str:
    return _LOGGED.sub("", text, count=1)


def _shown_conflicts(conflicts: Sequence[Conflict], style: Style) -> tuple[Conflict, ...]:
    """Return one conflict a fact, and none about lists: other facts tell the same in few words."""
    if style.verbose:
        return tuple(conflicts)
    plain = [pair for pair in conflicts if FACTS[pair.kept.path].kind != "records"]
    return tuple({pair.kept.path: pair for pair in reversed(plain)}.values())[::-1]


def _question(question: Question, style: Style) -> list[str]:
    command = _ASK + clean_command(question.command)
    why = f"({clean(question.why)})" if question.why else ""
    if why and cells(command) + GAP + cells(why) <= style.columns:
        return [f"{command}{' ' * GAP}{why}"]
    return [command, *(indented(why, style.columns, len(_ASK)) if why else [])]


def _machine(report: Report, style: Style) -> list[str]:
    """Return what the text told about the machine: in a line, part by part where asked for."""
    if style.verbose:
        return stack_lines(report, style)
    facts = report.snapshot
    lines: list[str] = []
    for heading, said in (("In the text", stack_text(facts)), ("The engine", _engine(facts))):
        lines += hang(f"  {heading}: ", said, style.columns) if said else []
    return lines


def _engine(facts: Snapshot) -> str:
    """Return what a start-up log told: model, attention backend, KV cache."""
    version = facts.value("engine.fa_version")
    backend = facts.value("engine.attention_backend", "")
    tokens, gib = facts.value("engine.kv_tokens"), facts.value("engine.kv_gib")
    parts = (
        str(facts.value("model.name", "")) if facts["engine.name"].is_known else "",
        f"{backend}{f' (FA{version})' if version else ''}" if backend else "",
        f"{tokens:,} KV tokens" if isinstance(tokens, int) else "",
        f"{gib:g} GiB for the KV cache" if isinstance(gib, int | float) else "",
    )
    return ", ".join(clean(part) for part in parts if part)
