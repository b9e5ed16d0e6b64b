"""What rules and signatures have in common: fixes, sources, ids, and links between rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any, TypeAlias

from flashdoctor.model.regex import regex
from flashdoctor.model.rule import Fix, Source

PLACEHOLDER = regex(r"(?<!\$)\{([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*)\}")
"""`{fact.path}` or `{advice.name}` in the text or a command of a fix."""

ADVICE = "advice."

Row: TypeAlias = tuple[str, Mapping[str, Any]]  # where it stands, and what it holds


def rows_in(name: str, table: Mapping[str, Any], section: str) -> Iterator[Row]:
    """Yield the rows of one section that are tables at all."""
    rows = table.get(section)
    for number, row in enumerate(rows if isinstance(rows, list) else ()):
        if isinstance(row, dict):
            yield f"{name}.toml: {section}[{number}]", row


def placeholder_mistakes(where: str, fix: Mapping[str, Any]) -> Iterator[str]:
    """Yield a mistake for each placeholder that is no fact."""
    from flashdoctor.data.when import path_mistakes  # noqa: PLC0415  a wheel needs no check

    texts = {"text": fix["text"]}
    texts.update({f"commands[{n}]": text for n, text in enumerate(fix.get("commands", ()))})
    for key, text in texts.items():
        for path in PLACEHOLDER.findall(text):
            if not path.startswith(ADVICE):
                yield from path_mistakes(f"{where}.{key}", path)


def repeated(rows: Iterable[Row], key: str) -> Iterator[str]:
    """Yield a mistake for each row whose value under `key` an earlier row has already."""
    first: dict[str, str] = {}
    for where, row in rows:
        value = row.get(key)
        if isinstance(value, str) and value in first:
            yield f"{where}.{key}: {value!r} is there already, at {first[value]}"
        elif isinstance(value, str):
            first[value] = where


def link_mistakes(rows: Iterable[Row], key: str, link: str, what: str) -> Iterator[str]:
    """Yield a mistake for each link to a row that is not there, and for each circle of links."""
    known = list(rows)
    above = {str(row.get(key)): _texts(row.get(link)) for _, row in known}
    for where, row in known:
        name = str(row.get(key))
        for other in above[name]:
            if other not in above:
                yield f"{where}.{link}: no {what} {other!r}"
        if name in _ancestors(name, above):
            yield f"{where}.{link}: {name} would follow itself"


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _ancestors(start: str, above: Mapping[str, tuple[str, ...]]) -> set[str]:
    seen: set[str] = set()
    left = list(above[start])
    while left:
        current = left.pop()
        if current not in seen:
            seen.add(current)
            left += above.get(current, ())
    return seen


def make_fix(row: Mapping[str, Any]) -> Fix:
    """Make the fix of a checked row."""
    return Fix(
        text=row["text"],
        commands=tuple(row.get("commands", ())),
        safety=row.get("safety", "manual"),
        package=row.get("package"),
    )


def make_sources(row: Mapping[str, Any]) -> tuple[Source, ...]:
    """Make the sources of a checked row."""
    return tuple(
        Source(url=source["url"], checked=date.fromisoformat(source["checked"]))
        for source in row["source"]
    )
