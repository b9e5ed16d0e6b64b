"""What may leave the machine: facts by allow-list, values by the kind the catalog gives them. Pure.

A value that does not fit its kind becomes unknown, text is scrubbed, a path that the catalog does
not list is dropped. Redacting what has been redacted changes nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from flashdoctor.model.catalog import FACTS, Kind
from flashdoctor.model.facts import Fact, unknown
from flashdoctor.model.scrub import scrub_path, scrub_text, scrub_version
from flashdoctor.model.snapshot import Conflict, Snapshot

__all__ = ["redact", "redact_snapshot", "scrub_path", "scrub_text"]

_Cleaner: TypeAlias = Callable[[Any], Any]  # returns None for a value of another shape

_MAX_WORD = 96  # longer than any wheel platform tag or version

_VERSION = (
    r"v?\d+(?:\.\d+)*"
    r"(?:[._-]?(?:a|alpha|b|beta|c|rc|pre|preview|post|rev|r|dev|git|nightly)\.?\d*)*"
    r"(?:-\d+)?(?:\+[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*)?"
)
_CAPABILITY = r"\d{1,2}\.\d"
_TARGET = r"(?:sm|compute)_\d{2,3}[af]?"
_WORD = r"[A-Za-z0-9][\w.+-]*"
_REQUIREMENT = r"[\w.,<>=!~*+()\[\];'\" -]*"
_KERNEL = r"\d+\.\d+[\w.+~-]*"

# Texts and keys of records in which four numbers with dots are a version, not an address.
_VERSION_TEXTS = ("_pin", "_requires", "os.kernel")
_VERSION_KEYS = frozenset({"version", "required", "installed", "compute_capability"})
_PATH_KEYS = frozenset({"path"})
_IMAGE_AFTER = "image="  # before a container's image, scrubbing knows the first part as a registry


def redact(fact: Fact) -> Fact:
    """Return the fact as it may be shown, kept and sent.

    A value that its kind does not allow makes the fact unknown; so does a path outside the catalog.
    """
    source, reason = scrub_text(fact.source), scrub_text(fact.reason)
    spec = FACTS.get(fact.path)
    if spec is None:
        return unknown(fact.path, "redacted: not in the catalog", source)
    if fact.state != "known":
        return Fact(path=fact.path, state=fact.state, source=source, reason=reason)
    value: Any
    if spec.kind == "records":
        value = _clean_records(fact.value, frozenset(spec.keys))
    elif spec.kind == "text" and fact.path.endswith(_VERSION_TEXTS):
        value = _clean_version_text(fact.value)
    elif fact.path == "launch.image" and isinstance(fact.value, str):
        value = scrub_text(_IMAGE_AFTER + fact.value).removeprefix(_IMAGE_AFTER)
    else:
        value = _CLEANERS[spec.kind](fact.value)
    if value is None:
        return unknown(fact.path, f"redacted: not a {spec.kind} value", source)
    return Fact(path=fact.path, state="known", value=value, source=source, reason=reason)


def redact_snapshot(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with every fact redacted and paths outside the catalog dropped."""
    return Snapshot(
        {fact.path: redact(fact) for fact in snapshot if fact.path in FACTS},
        tuple(
            Conflict(kept=redact(pair.kept), dropped=redact(pair.dropped))
            for pair in snapshot.conflicts
            if pair.kept.path in FACTS and pair.dropped.path in FACTS
        ),
    )


def _shape(pattern: str, scrub: Callable[[str], str]) -> _Cleaner:
    """Return a cleaner that takes short text of one shape in which there is nothing to scrub."""

    def clean(value: Any) -> str | None:
        if not isinstance(value, str) or len(value) > _MAX_WORD:
            return None
        return value if re.fullmatch(pattern, value) and scrub(value) == value else None

    return clean


def _list_of(clean: _Cleaner) -> _Cleaner:
    """Return a cleaner that takes a list of which `clean` takes every item."""

    def clean_all(value: Any) -> list[Any] | None:
        if not isinstance(value, list | tuple):
            return None
        cleaned = [clean(item) for item in value]
        return None if None in cleaned else cleaned

    return clean_all


def _clean_bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _clean_int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _clean_float(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) else None


def _clean_text(value: Any) -> str | None:
    return scrub_text(value) if isinstance(value, str) else None


def _clean_path(value: Any) -> str | None:
    return scrub_path(value) if isinstance(value, str) else None


def _clean_version_text(value: Any) -> str | None:
    if isinstance(value, str) and re.fullmatch(f"{_REQUIREMENT}|{_KERNEL}", value):
        return scrub_version(value)
    return _clean_text(value)


_clean_version = _shape(_VERSION, scrub_version)
_clean_capability = _shape(_CAPABILITY, scrub_version)
_clean_target = _shape(_TARGET, scrub_version)
_clean_word = _shape(_WORD, scrub_text)

_CLEANERS: Mapping[Kind, _Cleaner] = {
    "version": _clean_version,
    "capability": _clean_capability,
    "bool": _clean_bool,
    "int": _clean_int,
    "float": _clean_float,
    "word": _clean_word,
    "text": _clean_text,
    "path": _clean_path,
    "versions": _list_of(_clean_version),
    "capabilities": _list_of(_clean_capability),
    "targets": _list_of(_clean_target),
    "texts": _list_of(_clean_text),
    "paths": _list_of(_clean_path),
}


def _clean_records(value: Any, keys: frozenset[str]) -> list[dict[str, Any]] | None:
    if not isinstance(value, list | tuple) or not all(isinstance(item, Mapping) for item in value):
        return None
    return [
        {key: _clean_field(key, field) for key, field in item.items() if key in keys}
        for item in value
    ]


def _clean_field(key: str, value: Any) -> Any:
    """Clean one value of a record: a scalar or a list of them; anything deeper becomes None."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return _clean_float(value)
    if isinstance(value, list | tuple):
        return [_clean_field(key, item) for item in value if not isinstance(item, list | tuple)]
    if key in _PATH_KEYS:
        return _clean_path(value)
    return _clean_version_text(value) if key in _VERSION_KEYS else _clean_text(value)
