"""The `when` of a rule in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashdoctor.render.values import value_text

_WORDS: Mapping[str, str] = {
    "eq": "is",
    "ne": "is not",
    "lt": "is below",
    "le": "is at most",
    "gt": "is above",
    "ge": "is at least",
    "same_minor": "has the X.Y of",
    "differs_minor": "differs in X.Y from",
    "same_major": "has the major version of",
    "differs_major": "differs in its major version from",
    "in": "is one of",
    "not_in": "is none of",
    "contains": "holds",
    "lacks": "does not hold",
    "matches": "fits the pattern",
    "satisfies": "meets",
    "violates": "does not meet",
    "known": "is there",
    "absent": "is not there",
}
_GROUPS: Mapping[str, str] = {"all": "all of", "any": "any of"}


def condition_lines(condition: Mapping[str, Any], indent: int = 0) -> list[str]:
    """Return a condition as an outline: a comparison is a line, a group indents its parts."""
    start = " " * indent
    for key, words in _GROUPS.items():
        if key in condition:
            parts = [line for part in condition[key] for line in condition_lines(part, indent + 2)]
            return [f"{start}{words}", *parts]
    if "not" in condition:
        return [f"{start}not", *condition_lines(condition["not"], indent + 2)]
    if "required" in condition:
        return [f"{start}{condition['required']} is required"]
    return [start + _comparison(condition)]


def _comparison(condition: Mapping[str, Any]) -> str:
    words = [str(condition["fact"]), _WORDS.get(condition["op"], str(condition["op"]))]
    if "ref" in condition:
        words.append(str(condition["ref"]))
    elif "value" in condition:
        words.append(value_text(words[0], condition["value"], full=True))
    return " ".join(words)
