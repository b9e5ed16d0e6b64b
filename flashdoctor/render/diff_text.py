"""A comparison of two snapshots for people: the verdicts, what changes and by what, the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
        wanted = _lacking(found)
        blocks = [_sides(found, style), _wanted(wanted, style), *_findings(found, style)]
        rest = joined([*blocks, *_others(found, wanted, style)])
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
    pair = (change.before, change.after)
    before, after = (_state(fact, style) for fact in (pair if style.verbose else _narrowed(*pair)))
    return label(change.path), f"{before} -> {after}"


def _narrowed(before: Fact | None, after: Fact | None) -> tuple[Fact | None, Fact | None]:
    """Return two lists of records, such as GPUs, without what is the same in both."""
    one, two = _records(before), _records(after)
    if not (before and after and one and two and len(one) == len(two)):
        return before, after
    both = [(_without(a, b), _without(b, a)) for a, b in zip(one, two, strict=True) if a != b]
    kept = ([pair[0] for pair in both], [pair[1] for pair in both])
    return before._replace(value=kept[0]), after._replace(value=kept[1])


def _records(fact: Fact | None) -> list[Mapping[str, Any]]:
    value = fact.value if fact else None
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        return []
    return value


def _without(record: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a record differs from another, with the number that tells which it is."""
    return {key: v for key, v in record.items() if key == "index" or other.get(key) != v}


def _state(fact: Fact | None, style: Style) -> str:
    if fact is None:
        return "not stated"
    return state_text(fact, full=True) if style.verbose else clean(state_text(fact), _SHORT)


def _lacking(found: Comparison) -> list[FactChange]:
    """Return the facts for want of which one side alone has no verdict."""
    lacking = {*found.before.missing} ^ {*found.after.missing}
    return [change for change in found.facts if change.path in lacking]


def _wanted(wanted: Sequence[FactChange], style: Style) -> list[str]:
    return ["Without this there is no verdict:", *_rows(wanted, style)] if wanted else []


def _others(found: Comparison, wanted: Sequence[FactChange], style: Style) -> Iterator[list[str]]:
    rest = [each for each in found.facts if not each.matters and each not in wanted]
    shown = rest if style.verbose else rest[:_MOST]
    if rest:
        head = (
            "Differs as well, and changes no finding:" if found.findings or wanted else "Differs:"
        )
        yield [head, *_rows(shown, style), *_more(rest, shown, style, 2)]


def _rows(changes: Sequence[FactChange], style: Style) -> list[str]:
    return pairs([_fact(change, style) for change in changes], style.columns, 2)


def _more(every: Sequence[object], shown: Sequence[object], style: Style, indent: int) -> list[str]:
    left = len(every) - len(shown)
    return indented(f"and {left} more (--verbose)", style.columns, indent) if left else []
