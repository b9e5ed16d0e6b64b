"""How old rows are: the days since somebody held them against their source. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, NamedTuple

from flashdoctor.data.show import Found


class Aged(NamedTuple):
    """A row, the day it was checked last, and how many days ago that was."""

    found: Found
    checked: str
    days: int

    @property
    def name(self) -> str:
        """What the row is called: its key columns, or the beginning of its first text."""
        row = self.found.row
        keys = [str(row[key]) for key in self.found.columns if key in row]
        return " ".join(dict.fromkeys(keys)) or str(next(iter(row.values()), ""))

    def to_json(self) -> dict[str, Any]:
        """Return where the row stands, its age, and the row."""
        return {
            "table": self.found.table,
            "section": self.found.section,
            "name": self.name,
            "checked": self.checked,
            "age_days": self.days,
        }


def stale(rows: Iterable[Found], today: date, days: int) -> list[Aged]:
    """Return the rows that are at least so many days old, the oldest first.

    A row with several sources is as old as the oldest of them; one without a date is left out.
    """
    aged = [
        Aged(found, checked, (today - date.fromisoformat(checked)).days)
        for found in rows
        if (checked := checked_on(found.row)) is not None
    ]
    return sorted((item for item in aged if item.days >= days), key=lambda item: -item.days)


def checked_on(row: Mapping[str, Any]) -> str | None:
    """Return the day a row was checked, `2026-11-30`; None where it does not say."""
    sources = row.get("source")
    listed = sources if isinstance(sources, list) else []
    days = [item.get("checked") for item in [row, *listed] if isinstance(item, dict)]
    return min((str(day) for day in days if day), default=None)
