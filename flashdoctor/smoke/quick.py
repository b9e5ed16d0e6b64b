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
from flashdoctor.smoke.run import Guest
from flashdoctor.smoke.skipped import not_run


class QuickLook(Guest):
    """The quick cases and what proves the required components; they begin in the live child."""

    def __init__(self, known: Snapshot, required: Iterable[Component]) -> None:
        self._required = tuple(required)
        super().__init__(quick(plan_cases(known), self._required), {"quick": True})

    def facts(
        self, python: str | Path, found: Snapshot, environ: Mapping[str, str]
    ) -> tuple[Fact, ...]:
        """Return the smoke.* facts; `found` is all that is known by now, live.* included."""
        if found.value("live.kernel_ran") is not True:
            return not_run("no kernel of torch ran before")
        run = self.finish(python, environ)
        # Once more: what SDPA should choose follows from the cuDNN that was really loaded.
        cases = quick(plan_cases(found), self._required)
        return smoke_facts(judge_cases(cases, run, load_tables()), run)
