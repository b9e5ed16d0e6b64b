"""A planned launch as the outline that findings are shown from."""

from __future__ import annotations

from dataclasses import replace

from flashdoctor.model.finding import Report
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.model.tuning import TuneReport
from flashdoctor.render.clean import clean
from flashdoctor.render.context import Context
from flashdoctor.render.outline import TEXT_LIMIT, Outline, outline
from flashdoctor.render.tune_text import said_of, verdict_words


def tune_outline(report: TuneReport) -> Outline:
    """Return verdict, headline and findings of a planned launch."""
    held = Report(
        verdict="fail" if report.exit_code else "pass",
        exit_code=report.exit_code,
        snapshot=Snapshot(),
        findings=report.findings,
        matrix_date=report.matrix_date,
        tool=report.tool,
    )
    said = outline(held, Context(command="check"))
    headline = clean(f"{verdict_words(report)}: {said_of(report)}", TEXT_LIMIT)
    return replace(said, command="tune", headline=headline)
