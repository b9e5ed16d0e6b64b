"""One fact: what is known about one thing, or why it is not, and where that comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

State: TypeAlias = Literal["known", "absent", "unknown"]
Value: TypeAlias = Any  # a JSON value: bool, int, float, str, list or dict

STATES: tuple[State, ...] = ("known", "absent", "unknown")


class Fact(NamedTuple):
    """A value under a dotted path (`gpu.memory_mib`), with its state and source.

    `known`: `value` holds. `absent`: it was looked for and is not there; `value` is None.
    `unknown`: it could not be established; `reason` says why. `source` names what was read
    (`NVML`, `torch/version.py`, `--assume`, `matrix torch 2.6 cu126`).
    """

    path: str
    state: State
    source: str
    value: Value = None
    reason: str = ""

    @property
    def is_known(self) -> bool:
        """Whether there is a value to compare."""
        return self.state == "known"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of this fact, without its path."""
        body: dict[str, Any] = {"value": self.value, "state": self.state, "source": self.source}
        if self.reason:
            body["reason"] = self.reason
        return body


def known(path: str, value: Value, source: str) -> Fact:
    """Make a fact with a value."""
    return Fact(path=path, state="known", value=value, source=source)


def absent(path: str, source: str, reason: str = "") -> Fact:
    """Make a fact about something that is known not to be there."""
    return Fact(path=path, state="absent", source=source, reason=reason)


def unknown(path: str, reason: str, source: str) -> Fact:
    """Make a fact about something that could not be established."""
    return Fact(path=path, state="unknown", reason=reason, source=source)


def known_or_absent(path: str, value: Value, source: str) -> Fact:
    """Make a known fact, or an absent one where `value` is None."""
    return absent(path, source) if value is None else known(path, value, source)


def by_path(facts: Iterable[Fact]) -> Mapping[str, Fact]:
    """Index facts by path; a later fact of the same path replaces an earlier one."""
    return {fact.path: fact for fact in facts}
