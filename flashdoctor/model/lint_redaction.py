"""What of a lint may be shown: a launch command names folders, hosts and keys of whoever typed it.

Addresses stay: `--host 0.0.0.0` is what a finding may be about. Pure.
"""

from __future__ import annotations

from dataclasses import replace

from flashdoctor.model.finding import Advice, Evidence, Finding
from flashdoctor.model.lint import LintFinding, LintReport
from flashdoctor.model.scrub import scrub_version

_VERBS = (
    " needs a value", " takes ", " does not take ", " is ", " came in vLLM ", " could be ",
    " belongs to no flag",
)  # fmt: skip


def redact_lint(report: LintReport) -> LintReport:
    """Return the report without secrets, accounts and home folders."""
    launches = (item._replace(command=scrub_version(item.command)) for item in report.launches)
    findings = tuple(map(_redacted, report.findings))
    return replace(report, launches=tuple(launches), findings=findings)


def _redacted(item: LintFinding) -> LintFinding:
    replacement = None if item.replacement is None else scrub_version(item.replacement)
    return replace(
        item,
        flag=scrub_version(item.flag),
        replacement=replacement,
        where=scrub_version(item.where),
        finding=_finding(item.finding, item.flag),
    )


def _title(title: str, flag: str) -> str:
    """Return a title without secrets; the verb behind `--api-key` is none."""
    rest = title.removeprefix(flag)
    if rest != title and rest.startswith(_VERBS):
        return scrub_version(flag) + scrub_version(rest)
    return scrub_version(title)


def _finding(finding: Finding, flag: str) -> Finding:
    return finding._replace(
        title=_title(finding.title, flag),
        detail=scrub_version(finding.detail),
        evidence=tuple(map(_evidence, finding.evidence)),
        fix=Advice(
            text=scrub_version(finding.fix.text),
            commands=tuple(map(scrub_version, finding.fix.commands)),
            safety=finding.fix.safety,
        ),
    )


def _evidence(item: Evidence) -> Evidence:
    value = scrub_version(item.value) if isinstance(item.value, str) else item.value
    return item._replace(value=value, where=scrub_version(item.where))
