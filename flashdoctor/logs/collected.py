"""The facts of one paste as they come in: by trust, then the first; the rest are conflicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import Fact
from flashdoctor.model.log import MENTION, Found
from flashdoctor.model.snapshot import Conflict, Snapshot

_NEXT = (".post", ".dev", ".rc")
"""What makes a version another one, not the same one more exactly."""

_MAX_OTHERS = 3
"""Values kept beside the winning one: a log may state thousands."""


class Collected:
    """What was found so far. Holds a few entries for each path of the catalog, never more."""

    def __init__(self) -> None:
        self._best: dict[str, Found] = {}
        self._others: dict[str, list[Found]] = {}

    def add(self, items: Iterable[Found]) -> None:
        """Take facts in; a more trusted one replaces what is there."""
        for found in items:
            held = self._best.get(found.fact.path)
            if held is None:
                self._best[found.fact.path] = found
            elif _agree(held.fact, found.fact):
                if found.trust > held.trust or _is_finer(found, held):
                    self._best[found.fact.path] = found
            elif found.trust > held.trust or not _says_something(held.fact):
                self._best[found.fact.path] = found
                self._put_aside(held)
            else:
                self._put_aside(found)

    def _put_aside(self, found: Found) -> None:
        others = self._others.setdefault(found.fact.path, [])
        if found.trust == MENTION:
            return  # words in passing are about other machines as often as about this one
        if len(others) < _MAX_OTHERS and not any(_same(found.fact, old.fact) for old in others):
            others.append(found)

    def snapshot(self) -> Snapshot:
        """Return the winning facts, and as conflicts what differs from them."""
        conflicts = (
            Conflict(kept=self._best[path].fact, dropped=other.fact)
            for path in sorted(self._others)
            for other in self._others[path]
            if _says_something(other.fact) and not _agree(other.fact, self._best[path].fact)
        )
        facts = {path: found.fact for path, found in self._best.items()}
        return Snapshot(facts, tuple(conflicts))

    def lines(self) -> dict[str, int]:
        """Return the line of each winning fact."""
        return {path: found.line for path, found in self._best.items()}

    def trust(self) -> dict[str, int]:
        """Return how far each winning fact is to be trusted."""
        return {path: found.trust for path, found in self._best.items()}


def _same(one: Fact, other: Fact) -> bool:
    return (one.state, one.value) == (other.state, other.value)


def _agree(one: Fact, other: Fact) -> bool:
    """Whether two facts say the same, be it that one of them says it more exactly."""
    if _same(one, other):
        return True
    if not (one.is_known and other.is_known and FACTS[one.path].kind == "version"):
        return False
    return _extends(one.value, other.value) or _extends(other.value, one.value)


def _is_finer(found: Found, held: Found) -> bool:
    """Whether a fact of the same worth says more exactly what is held: `2.6.0+cu124`, `2.6.0`."""
    return (
        found.trust == held.trust
        and not _same(found.fact, held.fact)
        and _extends(found.fact.value, held.fact.value)
    )


def _extends(longer: Any, shorter: Any) -> bool:
    """Whether a version is another one with more behind it: `3.12.3` and `3.12`."""
    rest = str(longer).removeprefix(str(shorter))
    return rest != str(longer) and rest[:1] in {".", "+", ""} and not rest.startswith(_NEXT)


def _says_something(fact: Fact) -> bool:
    return fact.state != "unknown"
