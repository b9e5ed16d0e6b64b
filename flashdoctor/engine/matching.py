"""Which matches of a paste count, once all its facts are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flashdoctor.engine.when import Trace, evaluate
from flashdoctor.model.log import Match
from flashdoctor.model.snapshot import Snapshot


def counts(match: Match, facts: Snapshot, required: frozenset[str]) -> bool:
    """Whether a match's `when` holds and its `unless` does not.

    Both see the paste's facts (derived ones included), the state of the log at that line and what
    the line itself gave, the last of these first. Unknown is too little for `when`, and does not
    hinder by `unless`.
    """
    row = match.signature
    if row.when is None and row.unless is None:
        return True
    seen = Snapshot({**facts.facts, **match.facts.facts})
    if row.when is not None and evaluate(row.when, seen, required, Trace()) is not True:
        return False
    return row.unless is None or evaluate(row.unless, seen, required, Trace()) is not True


def paths_in(condition: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield every fact that a condition names."""
    for key, inner in (condition or {}).items():
        if key in ("fact", "ref"):
            yield inner
        elif key == "not":
            yield from paths_in(inner)
        elif key in ("all", "any"):
            for part in inner:
                yield from paths_in(part)
