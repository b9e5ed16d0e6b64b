"""Everything that is known about one machine and environment: the only input of a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from flashdoctor.errors import InputError
from flashdoctor.model.facts import STATES, Fact, unknown

SCHEMA = "flashdoctor/snapshot/v1"


class Conflict(NamedTuple):
    """Two sources that differ about one fact: `kept` wins, `dropped` is shown beside it."""

    kept: Fact
    dropped: Fact


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A frozen set of facts by path, in path order, with the conflicts met while merging."""

    facts: Mapping[str, Fact] = field(default_factory=dict)
    conflicts: tuple[Conflict, ...] = ()

    def __post_init__(self) -> None:
        ordered = {path: self.facts[path] for path in sorted(self.facts)}
        object.__setattr__(self, "facts", MappingProxyType(ordered))

    def __getitem__(self, path: str) -> Fact:
        """Return the fact at `path`; one nobody stated is unknown, never an error."""
        return self.facts.get(path) or unknown(path, "not stated", "nobody")

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts.values())

    def __contains__(self, path: object) -> bool:
        return path in self.facts

    def value(self, path: str, default: Any = None) -> Any:
        """Return the value at `path` where it is known, else `default`."""
        fact = self[path]
        return fact.value if fact.is_known else default

    def to_json(self) -> dict[str, Any]:
        """Return the v1 JSON object; `from_json` reads it back to an equal snapshot."""
        body: dict[str, Any] = {
            "schema": SCHEMA,
            "facts": {fact.path: fact.to_json() for fact in self},
        }
        if self.conflicts:
            body["conflicts"] = [
                {
                    "path": pair.kept.path,
                    "kept": pair.kept.to_json(),
                    "dropped": pair.dropped.to_json(),
                }
                for pair in self.conflicts
            ]
        return body


def of(facts: Iterable[Fact]) -> Snapshot:
    """Make a snapshot of facts from one source; a later fact replaces an earlier one."""
    return Snapshot({fact.path: fact for fact in facts})


def merge(*layers: Snapshot) -> Snapshot:
    """Lay snapshots over one another, the first the most trusted.

    A known or absent fact beats an unknown one of any layer. Where two layers know different
    values the earlier layer's is kept and the pair is recorded as a conflict.
    """
    kept: dict[str, Fact] = {}
    conflicts = [pair for layer in layers for pair in layer.conflicts]
    for layer in layers:
        for fact in layer:
            held = kept.get(fact.path)
            if held is None or (held.state == "unknown" and fact.state != "unknown"):
                kept[fact.path] = fact
            elif fact.state != "unknown" and (held.state, held.value) != (fact.state, fact.value):
                conflicts.append(Conflict(kept=held, dropped=fact))
    return Snapshot(kept, tuple(conflicts))


def from_json(body: Any) -> Snapshot:
    """Read a v1 snapshot object; every mistake is named in one `InputError`."""
    if not isinstance(body, dict) or body.get("schema") != SCHEMA:
        raise InputError(
            f"not a flashdoctor snapshot: `schema` is not {SCHEMA!r}",
            hint="make one with `flashdoctor snapshot --output FILE`",
        )
    facts = body.get("facts")
    if not isinstance(facts, dict):
        raise InputError("snapshot: `facts` is not an object")
    mistakes: list[str] = []
    read = [_fact_from_json(path, item, mistakes) for path, item in facts.items()]
    conflicts = _conflicts_from_json(body.get("conflicts", []), mistakes)
    if mistakes:
        raise InputError("snapshot: " + "; ".join(mistakes))
    return Snapshot({fact.path: fact for fact in read if fact}, tuple(conflicts))


def _fact_from_json(path: str, item: Any, mistakes: list[str]) -> Fact | None:
    if not isinstance(item, dict) or item.get("state") not in STATES:
        mistakes.append(f"{path}: `state` is not one of {', '.join(STATES)}")
        return None
    if item["state"] == "known" and item.get("value") is None:
        mistakes.append(f"{path}: known, but without a value")
        return None
    source, reason = item.get("source", ""), item.get("reason", "")
    if not isinstance(source, str) or not isinstance(reason, str):
        mistakes.append(f"{path}: `source` and `reason` are texts")
        return None
    value = item.get("value") if item["state"] == "known" else None
    return Fact(path=path, state=item["state"], value=value, source=source, reason=reason)


def _conflicts_from_json(items: Any, mistakes: list[str]) -> list[Conflict]:
    if not isinstance(items, list):
        mistakes.append("`conflicts` is not a list")
        return []
    found = []
    for number, item in enumerate(items):
        if not isinstance(item, dict) or not isinstance(item.get("path"), str):
            mistakes.append(f"conflicts[{number}]: `path` is not a text")
            continue
        kept = _fact_from_json(item["path"], item.get("kept"), mistakes)
        dropped = _fact_from_json(item["path"], item.get("dropped"), mistakes)
        if kept and dropped:
            found.append(Conflict(kept=kept, dropped=dropped))
    return found
