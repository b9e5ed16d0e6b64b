"""The facts of a smoke test that did not take place; on its own, since most checks need no more."""

from __future__ import annotations

from flashdoctor.model.facts import Fact, known, unknown

PATHS = ("smoke.status", "smoke.error", "smoke.proven", "smoke.faults", "smoke.cases")
SOURCE = "kernels that ran"


def not_run(reason: str) -> tuple[Fact, ...]:
    """Return them, with why it did not."""
    rest = (unknown(path, reason, SOURCE) for path in PATHS if path != "smoke.status")
    return (known("smoke.status", "not-run", SOURCE), *rest)
