"""The reasons in one line, and where they come from."""

from __future__ import annotations

from typing import Any

from flashdoctor.data.tables import Tables
from flashdoctor.model.tuning import Choice


class Reasons:
    """The sentences of matrices/launch/goals.toml."""

    def __init__(self, tables: Tables) -> None:
        table = tables.table("launch/goals")
        self._rows = {row["id"]: row for row in table["reason"]}
        self._batches = {row["goal"]: row for row in table["batch"]}

    def batch(self, goal: str) -> dict[str, Any]:
        """Return what a goal tries."""
        return dict(self._batches[goal])

    def choice(self, name: str, value: object, reason: str, **words: object) -> Choice:
        """Return a flag with its reason; `words` fill the reason's placeholders in."""
        row = self._rows[reason]
        said = None if value is None else str(value)
        return Choice(name, said, str(row["text"]).format(**words), str(row["source"]))
