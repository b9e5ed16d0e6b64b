"""What a check sees of the world, and how it answers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from flashdoctor.data.tables import Tables
from flashdoctor.model.facts import Fact
from flashdoctor.model.rule import Severity
from flashdoctor.model.snapshot import Snapshot


class MissingFactError(Exception):
    """A check needs a fact that is unknown: its rule is skipped."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class View(NamedTuple):
    """The facts, the tables and what is required; everything a judgement may depend on."""

    snapshot: Snapshot
    tables: Tables
    required: frozenset[str] = frozenset()

    def get(self, path: str) -> Fact:
        """Return the fact at `path`, whatever its state."""
        return self.snapshot[path]

    def need(self, path: str) -> Any:
        """Return the value at `path`, None where it is absent; skip the rule where unknown."""
        fact = self.snapshot[path]
        if fact.state == "unknown":
            raise MissingFactError(path)
        return fact.value

    def value(self, path: str, default: Any = None) -> Any:
        """Return the value at `path` where it is known, else `default`."""
        return self.snapshot.value(path, default)

    def requires(self, component: str) -> bool:
        """Whether the user asked for this component to work."""
        return component in self.required

    def devices(self) -> list[Mapping[str, Any]]:
        """Return the visible GPUs as records with at least `index`, `name`, `compute_capability`.

        Where only one GPU was stated it is device 0. Skips the rule where none is known.
        """
        listed = self.value("gpu.devices")
        if listed:
            return [device for device in listed if device.get("visible", True)]
        if self.get("gpu.compute_capability").state == "absent":
            return []
        return [
            {
                "index": 0,
                "name": self.value("gpu.name", "GPU"),
                "compute_capability": self.need("gpu.compute_capability"),
            }
        ]


class Judgement(NamedTuple):
    """A check's answer. `evidence` lists fact paths; `values` fill `{advice.x}` in the fix.

    `severity` and `cause` override the row's where a check knows better (some of several GPUs
    affected; a refusal that says itself why).
    """

    outcome: Literal["pass", "fail"]
    evidence: tuple[str, ...] = ()
    detail: str = ""
    values: Mapping[str, str] = MappingProxyType({})
    severity: Severity | None = None
    cause: str | None = None


def passed(*evidence: str) -> Judgement:
    """Say that the rule holds."""
    return Judgement(outcome="pass", evidence=evidence)


def failed(
    *evidence: str,
    detail: str = "",
    values: Mapping[str, str] | None = None,
    severity: Severity | None = None,
    cause: str | None = None,
) -> Judgement:
    """Say that the rule is broken; `detail` tells in one sentence how, with the user's values."""
    return Judgement(
        outcome="fail",
        evidence=evidence,
        detail=detail,
        values=values or {},
        severity=severity,
        cause=cause,
    )
