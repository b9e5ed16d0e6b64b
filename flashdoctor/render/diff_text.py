"""A comparison of two snapshots for people: the verdicts, what changes and by what, the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flashdoctor.model.comparison import Comparison, FactChange, FindingChange
from flashdoctor.model.facts import Fact
from flashdoctor.model.finding import Report
from flashdoctor.render.clean import clean, defuse
from flashdoctor.render.findings import head_lines
from flashdoctor.render.layout import indented, joined, pairs
from flashdoctor.render.style import Style, Tone
from flashdoctor.render.values import label, state_text

_MOST = 12
_SHORT = 72
_HEADS = {"appears": "Appears in B:", "vanishes": "Gone in B:", "changes": "Other in B than in A:"}
_SAYS = {"passed": "holds", "finding": "says otherwise", "skipped": "could not be judged"}


def diff_text(found: Comparison, style: Style) -> str:
    """Return the comparison as text that ends with a newline."""
    lines = [_headline(found, style)]
    if not style.quiet:
        rest = joined([_sides(found, style), *_findings(found, style), *_others(found, style)])
        lines += ["", *rest]
    return "".join(defuse(line) + "\n" for line in lines)


def _headline(found: Comparison, style: Style) -> str:
    tone: Tone = "warning" if found.exit_code else "good"
    word = "DIFFERENT" if found.exit_code else "SAME"
    return f"{style.paint(tone, word)}  {_said(found)}"


def _said(found: Comparison) -> str:
    verdicts = [report.verdict for report in (found.before, found.after)]
    same = verdicts[0] == verdicts[1]
    told = f"{verdicts[1]} in both" if same else f"{verdicts[0]} in A, {verdicts[1]} in B"
    count, facts = len(found.findings), len(found.facts)
    parts = [told, _counted(count, "finding"), _counted(facts, "fact")]
    return f"{parts[0]}; {parts[1]} and {parts[2]} differ"


def _counted(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'s' if count != 1 else ''}"


def _sides(found: Comparison, style: Style) -> list[str]:
    reports = (found.before, found.after)
    rows = [
        (key, f"{clean(name)}: {_verdict(report)}, {_counted(len(report.findings), 'finding')}")
        for key, name, report in zip("AB", found.names, reports, strict=True)
    ]
    return pairs(rows, style.columns, 0)


def _verdict(report: Report) -> str:
    lacking = ", ".join(map(label, report.missing))
    return f"{report.verdict} for want of {lacking}" if lacking else report.verdict


def _findings(found: Comparison, style: Style) -> Iterator[list[str]]:
    facts = {change.path: change for change in found.facts}
    for kind, head in _HEADS.items():
        for place, change in enumerate(c for c in found.findings if c.change == kind):
            yield [*([head] if place == 0 else []), *_finding(change, facts, style)]


def _finding(change: FindingChange, facts: dict[str, FactChange], style: Style) -> list[str]:
    lines = head_lines(change.finding, style)
    other = "B" if change.change == "vanishes" else "A"
    said = f"In {other} the rule {_SAYS[change.other]}"
    needs = ", ".join(map(label, change.needs))
    lines += indented(f"{said} ({needs} not known)." if needs else f"{said}.", style.columns, 4)
    shown = change.by if style.verbose else change.by[:_MOST]
    lines += pairs([_fact(facts[path], style) for path in shown], style.columns, 4)
    return [*lines, *_more(change.by, shown, style, 4)]


def _fact(change: FactChange, style: Style) -> tuple[str, str]:
    before, after = (_state(fact, style) for fact in (change.before, change.after))
    return label(change.path), f"{before} -> {after}"


def _state(fact: Fact | None, style: Style) -> str:
    if fact is None:
        return "not stated"
    return state_text(fact, full=True) if style.verbose else clean(state_text(fact), _SHORT)


def _others(found: Comparison, style: Style) -> Iterator[list[str]]:
    rest = [change for change in found.facts if not change.matters]
    shown = rest if style.verbose else rest[:_MOST]
    if rest:
        head = "Differs as well, and changes no finding:" if found.findings else "Differs:"
        rows = [_fact(change, style) for change in shown]
        yield [head, *pairs(rows, style.columns, 2), *_more(rest, shown, style, 2)]


def _more(every: Sequence[object], shown: Sequence[object], style: Style, indent: int) -> list[str]:
    left = len(every) - len(shown)
    return indented(f"and {left} more (--verbose)", style.columns, indent) if left else []
