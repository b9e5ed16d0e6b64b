"""Findings as blocks: the root cause in full, what follows from it in one line."""

from __future__ import annotations

from collections.abc import Iterable

from flashdoctor.model.finding import Evidence, Finding, Report
from flashdoctor.model.snapshot import Conflict
from flashdoctor.render.clean import LIMIT, clean, clean_command
from flashdoctor.render.layout import hang, indented, joined, pairs
from flashdoctor.render.style import Style, Tone
from flashdoctor.render.values import label, value_text

_FULL = 3
_SHORT = 6
_CONFLICTS = 3
_FULL_LIMIT = 4000


def finding_lines(report: Report, style: Style) -> list[str]:
    """Return every finding that is to be shown, blank lines between the full ones.

    In full: the causes as severe as the worst finding, at most three of them. In one line each:
    what follows from them, and milder findings. Infos are only counted. With `verbose` all of them
    stand in full.
    """
    shown = [finding for finding in report.findings if style.verbose or finding.severity != "info"]
    full = [finding for finding in shown if style.verbose or _is_root(finding, report)]
    full = full if style.verbose else full[:_FULL]
    short = [finding for finding in shown if finding not in full]
    brief = [line for finding in short[:_SHORT] for line in head_lines(finding, style)]
    if len(short) > _SHORT:
        brief += indented(f"and {len(short) - _SHORT} more (--verbose)", style.columns, 2)
    return joined([*(_block(finding, style) for finding in full), brief])


def _is_root(finding: Finding, report: Report) -> bool:
    return finding.follows is None and finding.severity == report.findings[0].severity


def _block(finding: Finding, style: Style) -> list[str]:
    limit = _FULL_LIMIT if style.verbose else LIMIT
    lines = head_lines(finding, style)
    if finding.detail:
        lines += indented(clean(finding.detail, limit), style.columns, 4)
    lines += pairs([_evidence(item, style) for item in finding.evidence], style.columns, 4)
    if finding.fix.text:
        lines += indented(clean(finding.fix.text, _FULL_LIMIT), style.columns, 2)
    lines += command_lines(finding.fix.commands)
    if style.verbose:
        lines += origin_lines(finding, style)
    return lines


def head_lines(finding: Finding, style: Style) -> list[str]:
    """Return a finding's mark and title, with its id flush right."""
    tone: Tone = finding.severity
    mark = style.mark(tone)
    tag = finding.id if not finding.follows else f"{finding.id}, follows from {finding.follows}"
    first, *rest = hang(f"{mark} ", clean(finding.title), style.columns, tag=clean(tag))
    return [style.paint(tone, mark) + first[len(mark) :], *rest]


def _evidence(item: Evidence, style: Style) -> tuple[str, str]:
    if item.fact is None:
        text = clean(str(item.value), _FULL_LIMIT if style.verbose else LIMIT)
        name = f"line {item.line}"
    else:
        text = value_text(item.fact, item.value, full=style.verbose)
        name = label(item.fact)
    return name, f"{text}  ({clean(item.where)})" if style.verbose and item.where else text


def origin_lines(finding: Finding, style: Style) -> list[str]:
    """Return what a finding is called, and the sources of what it says."""
    facts = ", ".join((finding.name, finding.layer, f"fix is {finding.fix.safety}"))
    lines = indented(clean(facts), style.columns, 2)
    for source in finding.sources:
        lines += hang("  source ", clean(source), style.columns)
    return lines


def command_lines(commands: Iterable[str]) -> list[str]:
    """Return commands as they are to be typed: one a line, never wrapped."""
    return ["    " + clean_command(command) for command in commands]


def conflict_lines(conflicts: tuple[Conflict, ...], style: Style) -> list[str]:
    """Return where two sources differ, with the value that was believed."""
    shown = conflicts if style.verbose else conflicts[:_CONFLICTS]
    lines: list[str] = []
    for pair in shown:
        first, *rest = hang(f"{style.mark('warning')} ", _conflict(pair), style.columns)
        lines += [style.paint("warning", first[:1]) + first[1:], *rest]
    if len(conflicts) > len(shown):
        left = len(conflicts) - len(shown)
        lines += indented(f"and {left} more (--verbose)", style.columns, 2)
    return lines


def _conflict(pair: Conflict) -> str:
    path, kept, dropped = pair.kept.path, pair.kept, pair.dropped
    return (
        f"sources differ about {label(path)}: {value_text(path, kept.value)} ({clean(kept.source)})"
        f" is believed, not {value_text(path, dropped.value)} ({clean(dropped.source)})"
    )
