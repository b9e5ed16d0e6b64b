"""An agent's report as facts.

It comes out of a process that anything may run in, so every path, type and length is checked;
what does not fit is dropped or unknown, never an exception.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from flashdoctor.model.catalog import FACTS, FactSpec, Kind
from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.model.regex import regex

_LONGEST_TEXT = 2000
_LONGEST_PATH = 4096
_MOST_ITEMS = 1000
_VERSION = regex(r"[\w.+!~-]{1,100}")
_CAPABILITY = regex(r"\d{1,2}\.\d")
_TARGET = regex(r"(?:sm|compute)_\d{2,3}[af]?")
_WORD = regex(r"[\w.+-]{1,100}")
_NOT_PRINTED = regex(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def facts_of(body: Mapping[str, Any]) -> list[Fact]:
    """Return the facts in a report; paths outside the catalogue are dropped."""
    items = body.get("facts")
    if not isinstance(items, list):
        return []
    read = [_fact(item) for item in items if isinstance(item, dict)]
    return [fact for fact in read if fact is not None]


def _fact(item: Mapping[str, Any]) -> Fact | None:
    path, state = item.get("path"), item.get("state")
    spec = FACTS.get(path) if isinstance(path, str) else None
    if spec is None:
        return None
    source = text_of(item.get("source")) or "agent"
    reason = text_of(item.get("reason"))
    if state == "absent":
        return absent(spec.path, source, reason)
    if state != "known":
        return unknown(spec.path, reason or "the agent does not say why", source)
    value = checked(spec, item.get("value"))
    if value is None:
        return unknown(spec.path, "the agent's value is not of the right kind", source)
    return known(spec.path, value, source)


def text_of(value: Any) -> str:
    """Return a text fit to keep: valid Unicode, no control characters, not too long."""
    if not isinstance(value, str):
        return ""
    text = value[:_LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")
    return _NOT_PRINTED.sub("", text)


def _matching(pattern: re.Pattern[str]) -> Callable[[Any], str | None]:
    return lambda value: value if isinstance(value, str) and pattern.fullmatch(value) else None


def _path(value: Any) -> str | None:
    short = isinstance(value, str) and 0 < len(value) <= _LONGEST_PATH
    return text_of(value) if short else None


def _bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _float(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < float("inf") else None


def _text(value: Any) -> str | None:
    return text_of(value) or None


_CHECKS: Mapping[Kind, Callable[[Any], Any]] = {
    "version": _matching(_VERSION),
    "capability": _matching(_CAPABILITY),
    "bool": _bool,
    "int": _int,
    "float": _float,
    "word": _matching(_WORD),
    "text": _text,
    "path": _path,
}
_ITEM_CHECKS: Mapping[Kind, Callable[[Any], Any]] = {
    "versions": _CHECKS["version"],
    "capabilities": _CHECKS["capability"],
    "targets": _matching(_TARGET),
    "texts": _text,
    "paths": _path,
}


def checked(spec: FactSpec, value: Any) -> Any:
    """Return a value of the kind that the fact has, None where this is not one."""
    if spec.kind in _CHECKS:
        return _CHECKS[spec.kind](value)
    if not isinstance(value, list) or len(value) > _MOST_ITEMS:
        return None
    if spec.kind == "records":
        items: list[Any] = [_record(spec, item) for item in value]
    else:
        items = [_ITEM_CHECKS[spec.kind](item) for item in value]
    return None if None in items else items


def _record(spec: FactSpec, item: Any) -> dict[str, Any] | None:
    if not isinstance(item, dict):
        return None
    kept = {key: item[key] for key in spec.keys if key in item}
    cleaned = {key: text_of(held) if isinstance(held, str) else held for key, held in kept.items()}
    plain = all(held is None or isinstance(held, str | int | float) for held in cleaned.values())
    return cleaned if plain else None
