"""A report for people: the answer, why, what to type, and then the quieter rest."""

from __future__ import annotations

from collections.abc import Iterator

from flashdoctor.model.finding import Finding, Report
from flashdoctor.model.rule import SEVERITIES, Severity
from flashdoctor.render.clean import clean, defuse
from flashdoctor.render.findings import conflict_lines, finding_lines
from flashdoctor.render.headline import headline
from flashdoctor.render.layout import hang, indented, joined, pairs
from flashdoctor.render.missing import missing_line, missing_lines
from flashdoctor.render.policy_text import policy_text
from flashdoctor.render.proof import established
from flashdoctor.render.stack import stack_lines, stack_text
from flashdoctor.render.style import Style
from flashdoctor.render.values import label

_NEWER = "release-newer-than-data"


def render(report: Report, style: Style) -> str:
    """Return the report as text that ends with a newline."""
    lines = headline(report, style)
    if not style.quiet:
        lines += _short(report, style) if _is_clean_pass(report, style) else _long(report, style)
    return "\n".join(defuse(line) for line in lines) + "\n"


def _is_clean_pass(report: Report, style: Style) -> bool:
    return report.verdict == "pass" and not report.snapshot.conflicts and not style.verbose


def _short(report: Report, style: Style) -> list[str]:
    facts = report.snapshot
    more = (policy_text(facts), data_text(report), counts(report))
    said = (established(facts), stack_text(facts), *more)
    return [line for text in said if text for line in indented(text, style.columns, 6)]


def _long(report: Report, style: Style) -> list[str]:
    undetermined = report.verdict == "undetermined"
    blocks = [
        missing_lines(report, style) if undetermined and report.missing else [],
        finding_lines(report, style),
        _proof(report, style),
        conflict_lines(report.snapshot.conflicts, style),
        missing_line(report, style) if not undetermined and report.missing else [],
        stack_lines(report, style),
        *(_rest(report, style) if style.verbose else ()),
        indented(policy, style.columns, 0) if (policy := policy_text(report.snapshot)) else [],
        indented(newer, style.columns, 0) if (newer := data_text(report)) else [],
        _last(report, style),
    ]
    return ["", *joined(blocks)]


def _proof(report: Report, style: Style) -> list[str]:
    """Return what is proven of what is required, where no other line says so."""
    if not report.required or report.verdict != "warn" or style.verbose:
        return []
    return indented(established(report.snapshot), style.columns, 0)


def data_text(report: Report) -> str:
    """Say which installed releases the tables do not reach, empty where they reach all."""
    told = next((item for item in report.findings if item.name == _NEWER), None)
    if told is None:
        return ""
    return f"{clean(told.detail)} flashdoctor matrix refresh tells what the index says of them."


def counts(report: Report) -> str:
    """Return how many rules said what."""
    failed = [finding for finding in report.findings if finding.outcome == "fail"]
    crashed = len(report.findings) - len(failed)
    total = len(report.findings) + len(report.passed) + len(report.skipped)
    parts = [_counted(failed, severity) for severity in SEVERITIES]
    parts.append(f"{crashed} crashed" if crashed else "")
    parts += [f"{len(report.passed)} passed", f"{len(report.skipped)} skipped"]
    return f"{total} rules: " + ", ".join(part for part in parts if part)


def _counted(failed: list[Finding], severity: Severity) -> str:
    count = sum(finding.severity == severity for finding in failed)
    return f"{count} {severity}{'s' if count != 1 else ''}" if count else ""


def _last(report: Report, style: Style) -> list[str]:
    more = "" if style.verbose else " (--verbose)"
    line = f"{counts(report)}{more}."
    root = report.findings[0] if report.findings else None
    if root is None or root.severity == "info":
        return indented(line, style.columns, 0)
    explain = f"flashdoctor rules explain {clean(root.id)}"
    both = f"{line}  {explain}"
    return [both] if len(both) <= style.columns else [*indented(line, style.columns, 0), explain]


def _rest(report: Report, style: Style) -> Iterator[list[str]]:
    if report.verdict in {"pass", "warn"}:
        yield indented(established(report.snapshot), style.columns, 2)
    needs = [(clean(item.id), ", ".join(map(label, item.needs))) for item in report.skipped]
    if needs:
        yield ["Skipped, for want of a fact:", *pairs(needs, style.columns, 2)]
    if report.passed:
        yield hang("Passed: ", clean(", ".join(report.passed), 100_000), style.columns)
    tool = clean(" ".join(str(report.tool.get(key, "")) for key in ("name", "version")))
    yield indented(f"{tool}, tables of {clean(report.matrix_date)}", style.columns, 0)
