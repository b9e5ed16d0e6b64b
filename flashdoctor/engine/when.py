"""The `when` language of rule rows: conditions over facts, in three-valued logic.

A comparison with an absent operand is false, with an unknown operand unknown (None); `all`, `any`
and `not` are Kleene's. Every condition also says which facts it looked at and which it missed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from flashdoctor.model import versions
from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import Fact
from flashdoctor.model.snapshot import Snapshot

Truth: TypeAlias = bool | None
Condition: TypeAlias = Mapping[str, Any]


@dataclass(slots=True)
class Trace:
    """The fact paths that a condition used, and those that it needed and did not have."""

    used: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def evaluate(
    condition: Condition, snapshot: Snapshot, required: frozenset[str], trace: Trace
) -> Truth:
    """Judge a condition that has passed the structure check of `flashdoctor.data`."""
    if "all" in condition:
        return _all(evaluate(item, snapshot, required, trace) for item in condition["all"])
    if "any" in condition:
        return _any(evaluate(item, snapshot, required, trace) for item in condition["any"])
    if "not" in condition:
        inner = evaluate(condition["not"], snapshot, required, trace)
        return None if inner is None else not inner
    if "required" in condition:
        return condition["required"] in required
    return _compare(condition, snapshot, trace)


def _all(parts: Iterable[Truth]) -> Truth:
    seen = list(parts)
    if False in seen:
        return False
    return None if None in seen else True


def _any(parts: Iterable[Truth]) -> Truth:
    seen = list(parts)
    if True in seen:
        return True
    return None if None in seen else False


def _compare(condition: Condition, snapshot: Snapshot, trace: Trace) -> Truth:
    fact = snapshot[condition["fact"]]
    operator = condition["op"]
    trace.used.append(fact.path)
    if operator == "absent":
        return _known_state(fact, trace, wanted="absent")
    if operator == "known":
        return _known_state(fact, trace, wanted="known")
    operands = [fact]
    if "ref" in condition:
        operands.append(snapshot[condition["ref"]])
        trace.used.append(condition["ref"])
    if any(operand.state == "absent" for operand in operands):
        return False
    missing = [operand.path for operand in operands if operand.state == "unknown"]
    if missing:
        trace.missing.extend(missing)
        return None
    other = operands[1].value if "ref" in condition else condition["value"]
    return OPERATORS[operator](FACTS[fact.path].kind, fact.value, other)


def _known_state(fact: Fact, trace: Trace, *, wanted: str) -> Truth:
    if fact.state == "unknown":
        trace.missing.append(fact.path)
        return None
    return fact.state == wanted


def ordering_key(kind: str, value: Any) -> Any:
    """Return what values of one kind are ordered by; None where the value has no such key."""
    if kind == "version":
        return versions.order(str(value))
    if kind == "capability":
        return versions.capability(str(value))
    return value


def _ordered(test: Callable[[Any, Any], bool]) -> Callable[[str, Any, Any], Truth]:
    def judge(kind: str, left: Any, right: Any) -> Truth:
        keys = ordering_key(kind, left), ordering_key(kind, right)
        return None if None in keys else test(*keys)

    return judge


def _same(part: Callable[[str], Any], *, differs: bool) -> Callable[[str, Any, Any], Truth]:
    def judge(_kind: str, left: Any, right: Any) -> Truth:
        parts = part(str(left)), part(str(right))
        return None if None in parts else (parts[0] != parts[1]) == differs

    return judge


def _satisfies(_kind: str, left: Any, right: Any) -> Truth:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # noqa: PLC0415 - 28 ms
    from packaging.version import InvalidVersion  # noqa: PLC0415 - the same

    try:
        return SpecifierSet(str(right)).contains(versions.public(str(left)), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return None


def _negate(judge: Callable[[str, Any, Any], Truth]) -> Callable[[str, Any, Any], Truth]:
    def negated(kind: str, left: Any, right: Any) -> Truth:
        truth = judge(kind, left, right)
        return None if truth is None else not truth

    return negated


OPERATORS: Mapping[str, Callable[[str, Any, Any], Truth]] = {
    "eq": _ordered(lambda a, b: a == b),
    "ne": _ordered(lambda a, b: a != b),
    "lt": _ordered(lambda a, b: a < b),
    "le": _ordered(lambda a, b: a <= b),
    "gt": _ordered(lambda a, b: a > b),
    "ge": _ordered(lambda a, b: a >= b),
    "same_minor": _same(versions.minor, differs=False),
    "differs_minor": _same(versions.minor, differs=True),
    "same_major": _same(versions.major, differs=False),
    "differs_major": _same(versions.major, differs=True),
    "in": lambda _kind, left, right: left in right,
    "not_in": lambda _kind, left, right: left not in right,
    "contains": lambda _kind, left, right: right in left,
    "lacks": lambda _kind, left, right: right not in left,
    "matches": lambda _kind, left, right: re.search(right, str(left)) is not None,
    "satisfies": _satisfies,
    "violates": _negate(_satisfies),
}
STATE_OPERATORS = ("known", "absent")
