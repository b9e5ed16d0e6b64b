"""Claims that people repeat about a flag or variable as a launch has it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from flashdoctor.data.folklore import launched_by
from flashdoctor.model.claim import Claim
from flashdoctor.model.lint import LintFinding
from flashdoctor.tune.kinds import FOLKLORE
from flashdoctor.tune.lint_findings import Context, make, text_of
from flashdoctor.tune.words import Word


def with_folklore(findings: Iterable[LintFinding], context: Context) -> Iterator[LintFinding]:
    """Yield findings, each that is about a claim with a pointer to it.

    Where nothing else was found about such a flag, an info of its own points at the claim.
    """
    claims = dict(_claims(context))
    pointed: set[str] = set()
    for found in findings:
        names = [name for name, (flag, _) in claims.items() if flag == found.flag]
        pointed.update(names)
        yield _with_pointers(found, names)
    for name, (_, finding) in claims.items():
        if name not in pointed:
            yield finding


def _claims(context: Context) -> Iterator[tuple[str, tuple[str, LintFinding]]]:
    for place, flag, text in _parts(context):
        for claim in launched_by(context.tables, text, context.version):
            title = f"what is often said of {flag}: {claim.claim}"
            yield claim.id, (flag, about_claim(claim, place, flag, title))


def _parts(context: Context) -> Iterator[tuple[Word, str, str]]:
    """Yield each flag and variable of a launch: where it stands, its name, all of its text."""
    for given in context.parsed.given:
        yield given.written, text_of(given), " ".join([str(given.written), *given.values])
    for setting in context.command.environment:
        text = f"{setting.name}={setting.value}"
        yield setting.value.part(text), setting.name, text


def _with_pointers(found: LintFinding, names: Iterable[str]) -> LintFinding:
    detail = found.finding.detail
    new = " ".join(f"Folklore: {name}." for name in names if name not in detail)
    if not new:
        return found
    return replace(found, finding=found.finding._replace(detail=f"{detail} {new}".strip()))


def about_claim(claim: Claim, place: Word, flag: str, title: str, advice: str = "") -> LintFinding:
    """Make an info that says what is true of a claim."""
    return make(
        FOLKLORE,
        place,
        title,
        flag=flag,
        detail=f"{claim.truth} Folklore: {claim.id}.",
        advice=advice,
        sources=(f"{claim.source} (checked {claim.checked})",),
    )
