"""Version specifiers on release numbers.

PEP 440 puts `2.8.0a0+vendor` before 2.8.0 and so outside `>=2.8`; such a build is what it calls
itself, and is compared as that here. Also, `packaging` takes longer to import than a whole check.
"""

from __future__ import annotations

from collections.abc import Iterator

from flashdoctor.model import versions
from flashdoctor.model.regex import regex

_CLAUSE = regex(r"\s*(===?|!=|~=|<=|>=|<|>)\s*v?([0-9][\w.*+!-]*)\s*")
_WILDCARD = regex(r"(\d+(?:\.\d+)*)\.\*")


def clauses(specifier: str) -> Iterator[tuple[str, str]]:
    """Yield `(operator, version)` of `>=2.1,<3`; nothing for a text such as `any`."""
    for part in specifier.split(","):
        match = _CLAUSE.fullmatch(part)
        if match:
            yield match[1], match[2]


def fits(version: str, specifier: str) -> bool:
    """Whether a version satisfies every clause; one that cannot be read satisfies none."""
    return all(_holds(version, operator, wanted) for operator, wanted in clauses(specifier))


def lower_bound(specifier: str) -> str | None:
    """Return the lowest version that a specifier takes, None where it has no lower end."""
    bounds = [wanted for operator, wanted in clauses(specifier) if operator in (">=", "~=", "==")]
    return bounds[0] if bounds else None


def below(version: str, specifier: str) -> bool:
    """Whether a version lies under the lower end of a specifier."""
    bound, found = versions.order(lower_bound(specifier) or ""), versions.order(version)
    return bound is not None and found is not None and found < bound


def _holds(version: str, operator: str, wanted: str) -> bool:
    wildcard = _WILDCARD.fullmatch(wanted)
    if wildcard:
        return _in_series(version, wildcard[1]) == (operator == "==")
    found, bound = versions.order(version), versions.order(wanted)
    if found is None or bound is None:
        return False
    if operator == "~=":
        return found >= bound and _in_series(version, wanted.rpartition(".")[0])
    return {
        "==": found == bound,
        "===": found == bound,
        "!=": found != bound,
        "<": found < bound,
        "<=": found <= bound,
        ">": found > bound,
        ">=": found >= bound,
    }[operator]


def _in_series(version: str, series: str) -> bool:
    start = [int(number) for number in series.split(".")]
    numbers = list(versions.release(version) or ())
    return (numbers + [0] * len(start))[: len(start)] == start
