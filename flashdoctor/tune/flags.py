"""The flags of `vllm serve` as the parser of one release sees them. Pure.

They come from matrices/launch/flags.toml, which knows the releases that were read. A release that
lies between two of them is taken to have what either has, so that nothing right is called wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from flashdoctor.data.tables import Tables
from flashdoctor.errors import UsageError
from flashdoctor.model.versions import order

Order: TypeAlias = tuple[tuple[int, ...], int]
Row: TypeAlias = Mapping[str, Any]

SWITCHES = frozenset({"store_true", "bool_optional"})
"""Kinds of flags that take no value at all."""


class Flag(NamedTuple):
    """One flag. `takes` is what its value is read as: text, int, size (`32k`), float or json.

    `many`: it takes all words up to the next flag. `optional`: its value may be left out. `open`:
    the parser lets any value through and the configuration checks it against `choices`.
    """

    name: str
    kind: str = "value"
    takes: str = "text"
    many: bool = False
    optional: bool = False
    choices: tuple[Any, ...] | None = None
    open: bool = False
    aliases: tuple[str, ...] = ()

    @property
    def is_switch(self) -> bool:
        """Whether it takes no value."""
        return self.kind in SWITCHES


class Releases(NamedTuple):
    """One release among those that were read: itself, and what was read next to it."""

    version: str
    at: Order
    below: Order
    above: Order
    beyond: bool
    """Newer than all that was read."""

    def has(self, row: Row) -> bool:
        """Whether the release, or one next to it where it was not read, has what a row names."""
        first, last = _edge(row, "first"), _edge(row, "last")
        return any(
            (first is None or first <= near) and (last is None or near <= last)
            for near in (self.below, self.above)
        )

    def reached(self, version: str | None) -> bool:
        """Whether the release is `version` or a later one; False for None."""
        found = order(version) if version else None
        return found is not None and found <= self.at


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagTable:
    """What one release takes. `source` says where that was read."""

    release: Releases
    source: str
    flags: Mapping[str, Flag]
    rows: Mapping[str, Row] = field(default_factory=dict)
    """Every flag that any release has, by name, as the tables hold it."""
    exact: bool = True
    """Whether this very release was read; else it is judged by its neighbours."""


def locate(version: str, sampled: Sequence[str]) -> Releases:
    """Place a release among those that were read; `UsageError` where it is no version."""
    at = order(version)
    if at is None:
        raise UsageError(f"{version!r} is not a version of vLLM", hint="for example 0.10.2")
    read = [place for place in map(order, sampled) if place is not None]
    below = max((place for place in read if place <= at), default=read[0])
    above = min((place for place in read if place >= at), default=read[-1])
    return Releases(version, at, below, above, beyond=at > read[-1])


def read_table(tables: Tables, version: str) -> FlagTable:
    """Return what the release `version` takes, as the tables know it."""
    body = tables.table("launch/flags")
    release = locate(version, body["meta"]["sampled"])
    rows = {row["name"]: row for row in body["flag"]}
    values = [row for row in body["value"] if _starts(row, release)]
    flags = {name: _flag(row, release, values) for name, row in rows.items() if release.has(row)}
    exact = release.at in (release.below, release.above)
    return FlagTable(release=release, source="the tables", flags=flags, rows=rows, exact=exact)


def with_sources(table: FlagTable, flags: Mapping[str, Flag], source: str) -> FlagTable:
    """Return a table whose flags were read from an installed vLLM; what is known of them stays."""
    return FlagTable(release=table.release, source=source, flags=flags, rows=table.rows, exact=True)


def newest(tables: Tables) -> str:
    """Return the newest release that was read."""
    sampled: list[str] = tables.table("launch/flags")["meta"]["sampled"]
    return sampled[-1]


def _edge(row: Row, key: str) -> Order | None:
    return order(row[key]) if key in row else None


def _starts(row: Row, release: Releases) -> bool:
    first, last = _edge(row, "first"), _edge(row, "last")
    return (first is None or first <= release.at) and (last is None or release.at <= last)


def _flag(row: Row, release: Releases, values: Iterable[Row]) -> Flag:
    name = row["name"]
    run = _latest(row["runs"], release)
    said: dict[str, Any] = {}
    for value in values:
        if name in value["flags"]:
            said.update({key: value[key] for key in ("takes", "many", "optional") if key in value})
    if run["kind"] in SWITCHES:
        said = {}
    if run["kind"] == "store_boolean":
        said = {"optional": True}
    choices, is_open = _choices(row, release)
    return Flag(
        name,
        kind=run["kind"],
        choices=choices,
        open=is_open,
        aliases=tuple(one["name"] for one in row.get("aliases", ()) if release.has(one)),
        **said,
    )


def _latest(runs: Sequence[Row], release: Releases) -> Row:
    """Return the run that holds; the first one where the flag is only in the release above."""
    begun = [run for run in runs if release.reached(run["first"])]
    return begun[-1] if begun else runs[0]


def _choices(row: Row, release: Releases) -> tuple[tuple[Any, ...] | None, bool]:
    """Replay the history of a flag's choices.

    Of a release that was not read, what either neighbour takes is allowed.
    """
    below, is_open = _replayed(row, release.below)
    above, _ = _replayed(row, release.above)
    if below is None or above is None:
        return None, is_open
    return tuple(dict.fromkeys((*below, *above))), is_open


def _replayed(row: Row, at: Order) -> tuple[list[Any] | None, bool]:
    now: list[Any] | None = None
    is_open = False
    for change in row.get("choices", ()):
        begins = order(change["first"])
        if begins is None or begins > at:
            break
        removed = change.get("removed", ())
        kept = [item for item in now or () if item not in removed]
        now = None if change.get("any") else [*kept, *change.get("added", ())]
        is_open = change.get("open", is_open)
    return now, is_open
