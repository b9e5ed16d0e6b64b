"""Rows of the launch tables by release. `first` and `last` of a row are releases that were read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from flashdoctor.errors import UsageError
from flashdoctor.model import versions

Row: TypeAlias = Mapping[str, Any]
Order: TypeAlias = tuple[tuple[int, ...], int]

OLDEST: Order = ((0,), 0)
NEWEST: Order = ((10**6,), 0)


def order(version: str) -> Order:
    """Return what releases are ordered by; `UsageError` where the text is no version."""
    found = versions.order(version)
    if found is None:
        raise UsageError(f"{version!r} is not a version of vLLM", hint="--engine-version 0.25.1")
    return found


def first_of(row: Row) -> Order:
    """Return the first release of a row, the oldest of all where it names none."""
    return order(row["first"]) if "first" in row else OLDEST


def last_of(row: Row) -> Order:
    """Return the last release of a row, the newest of all where it names none."""
    return order(row["last"]) if "last" in row else NEWEST


def holds(row: Row, version: str) -> bool:
    """Whether a release lies between the two that were read."""
    return first_of(row) <= order(version) <= last_of(row)


def rows_at(rows: Iterable[Row], version: str) -> list[Row]:
    """Return the rows that hold for a release, in their order."""
    return [row for row in rows if holds(row, version)]


def row_at(rows: Iterable[Row], version: str) -> Row | None:
    """Return the row of a release, else the nearest that was read: an earlier before a later one.

    Between two rows the older reading is taken, and beyond the last one the last: a change is not
    assumed before a release that shows it.
    """
    listed = list(rows)
    exact = rows_at(listed, version)
    if exact:
        return exact[0]
    earlier = [row for row in listed if last_of(row) < order(version)]
    if earlier:
        return max(earlier, key=last_of)
    return min(listed, key=first_of, default=None)
