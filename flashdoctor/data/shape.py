"""What a table must look like, and the mistakes in one that does not.

A `Field` describes one value, a `Section` the keys of one row (or of a list of rows), a `Shape`
the sections of a whole table. `mistakes_in` compares a parsed TOML table with its shape and
returns every mistake with its path, `release[3].version: expected text, got int`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from flashdoctor.model.versions import capability, release

_NAMES = {str: "text", int: "int", float: "number", bool: "bool", list: "list", dict: "table"}
_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
_DAY = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
_DAY_OR_MONTH = re.compile(f"{_DAY.pattern}|{_MONTH.pattern}")
_TARGET = re.compile(r"(sm|compute)_\d{2,3}[af]?")
_LABEL = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_CUDA_TAG = re.compile(r"cu\d{2,3}")
_PYTHON_TAG = re.compile(r"cp\d{2,3}t?")


def _compiles(text: str) -> bool:
    try:
        return re.compile(text) is not None
    except (re.error, OverflowError):
        return False


_TEXTS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "text": ("a text that is not empty", str.strip),
    "version": ("a version", lambda text: release(text) is not None),
    "capability": (
        "a compute capability such as 9.0",
        lambda text: "." in text and capability(text),
    ),
    "target": ("a target such as sm_90", _TARGET.fullmatch),
    "label": ("words of small letters joined by dashes", _LABEL.fullmatch),
    "variable": ("a variable such as VLLM_USE_V1", _VARIABLE.fullmatch),
    "cuda tag": ("a CUDA tag such as cu126", _CUDA_TAG.fullmatch),
    "python tag": ("a Python tag such as cp310", _PYTHON_TAG.fullmatch),
    "month": ("a month such as 2026-11", _MONTH.fullmatch),
    "day or month": ("a day or month such as 2026-11", _DAY_OR_MONTH.fullmatch),
    "day": ("a day such as 2026-11-30", _DAY.fullmatch),
    "pattern": ("a regular expression", _compiles),
}
_TYPES: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "number": (int, float),
    "bool": (bool,),
    "date": (date,),
    "table": (dict,),
    "any": (str, int, float, bool, list, dict),
}

KINDS = (*_TEXTS, *_TYPES)


@dataclass(frozen=True, slots=True)
class Field:
    """One value: its kind (one of KINDS), whether it must be there, whether it is a list of them.

    `words`: where `kind` is text, the only ones allowed; for any other kind, texts that may stand
    in its place. `of` describes the keys of a `table`. `filled`: a list must not be empty.
    """

    kind: str
    required: bool = True
    many: bool = False
    words: tuple[str, ...] = ()
    of: Section | None = None
    filled: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A list of rows (or, where `single`, one table) with these keys.

    `unique` lists the groups of keys that no two rows may share the values of, `inherits` the keys
    that a row may leave to the table's [meta].
    """

    fields: Mapping[str, Field]
    unique: tuple[tuple[str, ...], ...] = ()
    single: bool = False
    required: bool = True
    inherits: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        """The keys that identify a row."""
        return self.unique[0] if self.unique else ()


@dataclass(frozen=True, slots=True)
class Shape:
    """The sections of one table, and the single values at its top."""

    sections: Mapping[str, Section] = field(default_factory=dict)
    values: Section = field(default_factory=lambda: Section({}, single=True))


def need(kind: str, *words: str, many: bool = False) -> Field:
    """Describe a value that must be there; a list that must be there may be empty."""
    return Field(kind, many=many, words=words)


def may(kind: str, *words: str, many: bool = False) -> Field:
    """Describe a value that may be left out."""
    return Field(kind, required=False, many=many, words=words)


def whole_row(table: Mapping[str, Any], section: Section, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with what it inherits from the table's [meta]."""
    meta = table.get("meta", {})
    return {**row, **{key: meta[key] for key in section.inherits if key not in row}}


def mistakes_in(table: Mapping[str, Any], shape: Shape) -> list[str]:
    """Return every way in which `table` differs from `shape`, in reading order."""
    loose = {name: value for name, value in table.items() if name not in shape.sections}
    found = list(row_mistakes("", loose, shape.values))
    for name, section in shape.sections.items():
        if name in table:
            found += _section(name, table[name], section)
        elif section.required:
            found.append(f"{name}: missing")
    return found


def _section(name: str, value: Any, section: Section) -> Iterator[str]:
    if section.single:
        yield from row_mistakes(name, value, section)
    elif not isinstance(value, list):
        yield f"{name}: expected a list of rows, got {kind_of(value)}"
    else:
        for number, row in enumerate(value):
            yield from row_mistakes(f"{name}[{number}]", row, section)
        for keys in section.unique:
            yield from duplicates(name, value, keys)


def row_mistakes(path: str, row: Any, section: Section) -> Iterator[str]:
    """Yield the mistakes in one row, which stands at `path`."""
    if not isinstance(row, dict):
        yield f"{path}: expected a table, got {kind_of(row)}"
        return
    start = f"{path}." if path else ""
    for key, value in row.items():
        spec = section.fields.get(key)
        if spec is None:
            yield f"{start}{key}: unknown key"
        elif spec.many:
            yield from _list(f"{start}{key}", value, spec)
        else:
            yield from _one(f"{start}{key}", value, spec)
    for key, spec in section.fields.items():
        if spec.required and key not in row and key not in section.inherits:
            yield f"{start}{key}: missing"
    doubtful = row.get("unverified_fields")
    for key in doubtful if isinstance(doubtful, list) else ():
        if key not in list(row):
            yield f"{path}.unverified_fields: {key!r} is not a key of this row"


def _list(path: str, value: Any, spec: Field) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path}: expected a list, got {kind_of(value)}"
        return
    if spec.filled and not value:
        yield f"{path}: expected at least one"
    for number, item in enumerate(value):
        yield from _one(f"{path}[{number}]", item, spec)


def _one(path: str, value: Any, spec: Field) -> Iterator[str]:
    if type(value) is str and value in spec.words:
        return
    if spec.words and spec.kind == "text":
        yield f"{path}: expected one of {', '.join(spec.words)}, got {value!r}"
    elif spec.kind in _TEXTS:
        yield from _text(path, value, spec)
    elif type(value) not in _TYPES[spec.kind]:
        yield f"{path}: expected {_expected(spec)}, got {kind_of(value)}"
    elif spec.of is not None:
        yield from row_mistakes(path, value, spec.of)


def _text(path: str, value: Any, spec: Field) -> Iterator[str]:
    wanted, test = _TEXTS[spec.kind]
    if type(value) is not str:
        yield f"{path}: expected text, got {kind_of(value)}"
    elif not test(value):
        or_words = f" or {', '.join(spec.words)}" if spec.words else ""
        yield f"{path}: expected {wanted}{or_words}, got {value!r}"


def _expected(spec: Field) -> str:
    return f"{spec.kind} or {', '.join(spec.words)}" if spec.words else spec.kind


def kind_of(value: Any) -> str:
    """Return the name of a value's type as a person who writes TOML would say it."""
    return _NAMES.get(type(value), type(value).__name__)


def duplicates(name: str, rows: Iterable[Any], keys: tuple[str, ...]) -> Iterator[str]:
    """Yield a mistake for each row whose values under `keys` an earlier row has already."""
    seen: dict[tuple[Any, ...], int] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or not all(key in row for key in keys):
            continue
        values = tuple(repr(row[key]) for key in keys)
        if values in seen:
            what = ", ".join(f"{key} {row[key]!r}" for key in keys)
            yield f"{name}[{number}]: {what} is there already, at {name}[{seen[values]}]"
        seen.setdefault(values, number)
