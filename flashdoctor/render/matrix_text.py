"""One of the compatibility tables as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashdoctor.render.clean import clean, defuse
from flashdoctor.render.layout import GAP, cells, pairs, table
from flashdoctor.render.style import Style

_LONG = 4000
_CELL = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The rows of one section; `keys` are the fields that tell one row from another."""

    name: str
    rows: tuple[Mapping[str, Any], ...]
    keys: tuple[str, ...] = ()


def overview_text(sections: Sequence[Section], style: Style) -> str:
    """Return every section as a table of its keys and of as many other fields as fit."""
    blocks = (list(_overview(section, style)) for section in sections if section.rows)
    return _joined(blocks)


def rows_text(sections: Sequence[Section], style: Style) -> str:
    """Return every row in full, one field a line."""
    blocks = (
        [f"[{clean(section.name)}]", *pairs(list(_fields(row)), style.columns, 2)]
        for section in sections
        for row in section.rows
    )
    return _joined(blocks)


def _overview(section: Section, style: Style) -> Iterator[str]:
    count = len(section.rows)
    yield f"[{clean(section.name)}] {count} row{'s' if count != 1 else ''}"
    rows = [[_text(row.get(field)) for field in _columns(section, style)] for row in section.rows]
    head = [clean(field) for field in _columns(section, style)]
    yield from table([head, *rows], indent=2)


def _columns(section: Section, style: Style) -> list[str]:
    """Choose fields: the keys always, then those that every row has, while there is room."""
    common = [field for field in section.rows[0] if all(field in row for row in section.rows)]
    wanted = [*section.keys, *(field for field in common if field not in section.keys)]
    chosen: list[str] = []
    room = style.columns - 2
    for field in wanted:
        texts = [field, *(_text(row.get(field)) for row in section.rows)]
        width = max(map(cells, texts)) + GAP
        if field in section.keys or (width <= min(room, _CELL)):
            chosen.append(field)
            room -= width
    return chosen


def _fields(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field, value in row.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for number, part in enumerate(value, start=1):
                yield f"{clean(field)} {number}", _text(part)
        else:
            yield clean(field), _text(value)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{clean(key)} {_text(part)}" for key, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    return clean(str(value), _LONG)


def _joined(blocks: Iterator[list[str]]) -> str:
    return "\n\n".join("\n".join(map(defuse, block)) for block in blocks) + "\n"
