"""An agent's events as checked values: anything may run in the process they come from. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from flashdoctor.model.redaction import scrub_text

MOST_KERNELS = 64
_LONGEST_KERNEL = 2000
_MOST_MESSAGES = 20
_LONGEST_MESSAGE = 500
_MOST_KEYS = 20
_LARGEST = 1e12


def number(value: Any) -> float | None:
    """Return a finite number that is no truth value, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and abs(value) < _LARGEST else None


def text(value: Any, limit: int = _LONGEST_MESSAGE) -> str:
    """Return a text that is valid Unicode, has nothing private in it and is not too long."""
    if not isinstance(value, str):
        return ""
    return scrub_text(value[:limit].encode("utf-8", "replace").decode("utf-8"))


def kernels(value: Any) -> tuple[str, ...]:
    """Return kernel names as they are: they are matched, and hold nothing of a machine."""
    names = value[:MOST_KERNELS] if isinstance(value, list) else ()
    whole = (name[:_LONGEST_KERNEL] for name in names if isinstance(name, str) and name)
    return tuple(name.encode("utf-8", "replace").decode("utf-8") for name in whole)


def messages(value: Any) -> tuple[str, ...]:
    """Return warnings and error texts."""
    items = value[:_MOST_MESSAGES] if isinstance(value, list) else ()
    return tuple(filter(None, map(text, items)))


def details(value: Any) -> dict[str, Any]:
    """Return an object of plain values, lists and objects of them."""
    return _plain(value) if isinstance(value, Mapping) else {}


def _plain(value: Any, depth: int = 3) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return number(value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list) and depth:
        return [_plain(item, depth - 1) for item in value[:_MOST_KEYS]]
    if isinstance(value, Mapping) and depth:
        rows = list(value.items())[:_MOST_KEYS]
        return {text(key, 100): _plain(item, depth - 1) for key, item in rows}
    return None
