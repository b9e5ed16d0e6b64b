"""The quick look at attention that is part of a check: a few cases in a child, as facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from flashdoctor.data.tables import load_tables
from flashdoctor.model.facts import Fact
from flashdoctor.model.rule import Component
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.smoke.facts import smoke_facts
from flashdoctor.smoke.plan import plan_cases, quick
from flashdoctor.smoke.report import judge_cases
from flashdoctor.smoke.run import run_cases


def run_quick(
    python: str | Path,
    facts: Snapshot,
    required: Iterable[Component],
    environ: Mapping[str, str],
) -> tuple[Fact, ...]:
    """Run the quick cases and what proves the required components; return the smoke.* facts."""
    cases = quick(plan_cases(facts), required)
    run = run_cases(python, cases, environ=environ, options={"quick": True})
    return smoke_facts(judge_cases(cases, run, load_tables()), run)
