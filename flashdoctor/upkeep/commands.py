"""The use cases: verify the tables, propose rows for them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from flashdoctor.data.tables import load_tables, toml_text
from flashdoctor.model.upkeep import Refresh, Verification
from flashdoctor.target.choose import choose_python
from flashdoctor.upkeep import run
from flashdoctor.upkeep.fields import DISTRIBUTIONS
from flashdoctor.upkeep.index import Index, PipIndex
from flashdoctor.upkeep.verify import sample as draw
from flashdoctor.upkeep.verify import subjects


def verify_matrix(
    index: Index, *, sample: int | None = None, seed: int = 0, progress: run.Progress
) -> Verification:
    """Hold rows of the tables against the package index, all of them or a sample.

    `TargetError` where it cannot be asked.
    """
    tables = load_tables()
    every = subjects(tables)
    found = run.verify(draw(every, sample, seed), len(every), index, progress)
    return replace(
        found, calls=index.calls, seconds=index.seconds, pip=index.pip, matrix_date=tables.date
    )


def refresh_matrix(index: Index, today: date, *, progress: run.Progress) -> Refresh:
    """Propose rows for releases that are newer than the tables; `TargetError` as above."""
    texts = {name: toml_text(f"compat/{name}") for name in DISTRIBUTIONS}
    return run.refresh(load_tables(), texts, index, today.isoformat(), progress)


def pip_index(python: str | None) -> PipIndex:
    """Return the index that the pip of an interpreter is configured for."""
    return PipIndex(str(choose_python(python).path))
