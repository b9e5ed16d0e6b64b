"""A report for an issue, a merge request or a job summary, in GitHub's Markdown.

No HTML, no links, no mentions: a quoted log can neither call anybody nor lead anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flashdoctor.render.clean import defuse
from flashdoctor.render.context import PLAIN, Context
from flashdoctor.render.inert import cell, fenced, prose, span
from flashdoctor.render.outline import AnyReport, Item, Outline, Quote, outline
from flashdoctor.render.stack import Part
from flashdoctor.render.style import Style

LIMIT = 60_000
"""Characters; GitHub refuses an issue or a comment of more than 65,536."""

_MARKS = {"good": "ok", "error": "error", "warning": "warning", "info": "", "none": ""}


def render(report: AnyReport, _style: Style, context: Context = PLAIN) -> str:
    """Return the verdict, the stack as a table, each finding with evidence and commands."""
    said = outline(report, context)
    head = [f"### {said.verdict.upper()}: {prose(said.headline) or span(said.command)}"]
    blocks = [head, *_notes(said), _table(said.parts)]
    tail = [_asked(said), [_footer(said)]]
    return _fitted(blocks, [finding_block(item) for item in said.items], tail)


def _fitted(
    blocks: list[list[str]], findings: Sequence[list[str]], tail: Sequence[list[str]]
) -> str:
    """Return the blocks as text, the last findings left out where it would grow too long."""
    room = LIMIT - sum(map(_size, [*blocks, *tail]))
    kept: list[list[str]] = []
    for block in findings:
        room -= _size(block)
        if room < 0:
            break
        kept.append(block)
    left = len(findings) - len(kept)
    more = [[f"And {left} more, left out for their length."]] if left else []
    lines = [line for block in [*blocks, *kept, *more, *tail] if block for line in [*block, ""]]
    return "".join(f"{defuse(line)}\n" for line in lines[:-1])


def _size(block: list[str]) -> int:
    return sum(len(line) + 2 for line in block) + 2


def _notes(said: Outline) -> Iterator[list[str]]:
    if said.notes:
        yield [f"- {prose(note)}" for note in said.notes]


def _table(parts: Sequence[Part]) -> list[str]:
    if not parts:
        return []
    rows = [
        f"| {cell(prose(part.label))} | {cell(span(part.text))} | {_MARKS[part.tone]} |"
        for part in parts
    ]
    return ["| Part | Found | |", "| --- | --- | --- |", *rows]


def finding_block(item: Item) -> list[str]:
    """Return a finding: its title, what it rests on, what to do."""
    follows = f"follows from {item.follows}" if item.follows else ""
    words = ", ".join(part for part in (item.severity, item.certainty, follows) if part)
    lines = [f"#### {prose(item.title)}", "", f"{span(item.id)} {prose(words)}"]
    lines += ["", prose(item.detail)] if item.detail else []
    lines += ["", *_evidence(item)] if item.evidence else []
    lines += ["", prose(item.advice)] if item.advice else []
    lines += ["", *fenced(item.commands, "sh")] if item.commands else []
    return lines


def _evidence(item: Item) -> list[str]:
    """Return facts as a list, and quoted lines as they stood, in one block."""
    quotes = [quote for quote in item.evidence if not quote.label]
    facts = [f"- {_fact(quote)}" for quote in item.evidence if quote.label]
    block = fenced([_quoted(quote) for quote in quotes], "text") if quotes else []
    return [*block, *([""] if block and facts else []), *facts]


def _fact(quote: Quote) -> str:
    where = f" ({prose(quote.where)})" if quote.where else ""
    return f"{prose(quote.label)}: {span(quote.text)}{where}"


def _quoted(quote: Quote) -> str:
    return f"{quote.line or '':>5} | {quote.text}"


def _asked(said: Outline) -> list[str]:
    if not said.ask:
        return []
    return ["What would tell more:", "", *fenced([item.command for item in said.ask], "sh")]


def _footer(said: Outline) -> str:
    judged = len(said.items) + len(said.passed) + len(said.skipped)
    if not (said.passed or said.skipped):
        return prose(said.footer)
    counts = f"{len(said.passed)} passed, {len(said.skipped)} skipped"
    return f"{judged} rules: {len(said.items)} found something, {counts}. {prose(said.footer)}"
