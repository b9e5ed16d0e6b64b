"""Which rules `--select` and `--ignore` mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from flashdoctor.cli.options import did_you_mean, split
from flashdoctor.errors import UsageError
from flashdoctor.model.log import Signature
from flashdoctor.model.rule import Rule

Criterion: TypeAlias = Rule | Signature
_FAMILIES = ("FD", "LS")


def expand(option: str, items: Iterable[str], rules: Sequence[Criterion]) -> tuple[str, ...]:
    """Return the ids of the rules that the items name: an id, a name, or how an id begins.

    A signature of a log is a rule here. Every item that names nothing is in the one `UsageError`.
    """
    given = list(items)
    parts = split(given)
    if given and not parts:
        raise UsageError(f"{option} names no rule", hint="flashdoctor rules list")
    named = {part: _named(part, rules) for part in parts}
    unknown = [part for part, ids in named.items() if not ids]
    if unknown:
        words = [word for rule in rules for word in (rule.id, rule.name)]
        raise UsageError(
            "; ".join(f"{option}: no rule {word!r}{did_you_mean(word, words)}" for word in unknown),
            hint="flashdoctor rules list",
        )
    return tuple(dict.fromkeys(rule_id for ids in named.values() for rule_id in ids))


def _named(part: str, rules: Iterable[Criterion]) -> list[str]:
    return [rule.id for rule in rules if matches(part, rule)]


def matches(part: str, rule: Criterion) -> bool:
    """Whether `part` names the rule or its family: `FD302`, `fd3`, `flash-attn-abi-mismatch`."""
    word = part.upper()
    return rule.name == part.lower() or (word.startswith(_FAMILIES) and rule.id.startswith(word))
