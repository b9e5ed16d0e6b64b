"""The rules of matrices/rules, checked as a whole and made into `Rule` objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, TypeAlias

from flashdoctor.data.tables import Tables
from flashdoctor.errors import MatrixError
from flashdoctor.model.rule import Example, Fix, Rule, Source

PLACEHOLDER = re.compile(r"(?<!\$)\{([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*)\}")
"""`{fact.path}` or `{advice.name}` in the text or a command of a fix."""

ADVICE = "advice."
_ID = re.compile(r"FD[1-9]\d\d")
_ABSENT = "absent"
_Row: TypeAlias = tuple[str, Mapping[str, Any]]  # where it stands, and what it holds


def load_rules(tables: Tables) -> tuple[Rule, ...]:
    """Return every rule by id; one `MatrixError` lists every mistake in all their files.

    Compiled rules were checked when the wheel was built and are not checked again.
    """
    if not tables.compiled:
        mistakes = rule_mistakes(tables)
        if mistakes:
            raise MatrixError("\n".join(mistakes))
    rows = (row for name in tables.group("rules") for row in tables.table(name).get("rule", ()))
    return tuple(sorted(map(_rule, rows), key=lambda rule: rule.id))


def rule_mistakes(tables: Tables) -> list[str]:
    """Return every mistake in the rules: of form, of sense, and between one rule and another."""
    mistakes: list[str] = []
    rows: list[_Row] = []
    for name in tables.group("rules"):
        table, malformed = tables.examine(name)
        mistakes += malformed
        for where, row in _rows(name, table):
            rows.append((where, row))
            if not any(mistake.startswith(where) for mistake in malformed):
                mistakes += _row_mistakes(where, row)
    return [*mistakes, *_repeated(rows, "id"), *_repeated(rows, "name"), *_follows(rows)]


def _rows(name: str, table: Mapping[str, Any]) -> Iterator[_Row]:
    rows = table.get("rule")
    for number, row in enumerate(rows if isinstance(rows, list) else ()):
        if isinstance(row, dict):
            yield f"{name}.toml: rule[{number}]", row


def _row_mistakes(where: str, row: Mapping[str, Any]) -> Iterator[str]:
    from flashdoctor.data.when import condition_mistakes, path_mistakes  # noqa: PLC0415  as above

    if not _ID.fullmatch(row["id"]):
        yield f"{where}.id: expected FD and three digits, the first of them 1 to 9: {row['id']!r}"
    if ("when" in row) == ("check" in row):
        yield f"{where}: expected `when` or `check`, one of them"
    elif "when" in row:
        yield from condition_mistakes(f"{where}.when", row["when"])
    for number, path in enumerate(row.get("evidence", ())):
        yield from path_mistakes(f"{where}.evidence[{number}]", path)
    yield from _placeholders(f"{where}.fix", row["fix"])
    yield from _examples(f"{where}.example", row["example"])


def _placeholders(where: str, fix: Mapping[str, Any]) -> Iterator[str]:
    from flashdoctor.data.when import path_mistakes  # noqa: PLC0415  a wheel needs no check

    texts = {"text": fix["text"]}
    texts.update({f"commands[{n}]": text for n, text in enumerate(fix.get("commands", ()))})
    for key, text in texts.items():
        for path in PLACEHOLDER.findall(text):
            if not path.startswith(ADVICE):
                yield from path_mistakes(f"{where}.{key}", path)


def _examples(where: str, examples: list[Mapping[str, Any]]) -> Iterator[str]:
    for wanted in ("fail", "pass"):
        if not any(example["expect"] == wanted for example in examples):
            yield f"{where}: none of them expects {wanted!r}"
    for number, example in enumerate(examples):
        for path, value in example["facts"].items():
            yield from _example_fact(f"{where}[{number}].facts", path, value)


def _example_fact(where: str, path: str, value: Any) -> Iterator[str]:
    from flashdoctor.data.when import path_mistakes, value_mistakes  # noqa: PLC0415  as above
    from flashdoctor.model.catalog import FACTS  # noqa: PLC0415  as above

    if path not in FACTS:
        yield from path_mistakes(where, path)
    elif value != _ABSENT:
        kind = FACTS[path].kind
        yield from value_mistakes(f"{where}.{path}", _written(kind, value), value)


def _written(kind: str, value: Any) -> str:
    """Return the kind that an example's value is checked as: lists and versions are free."""
    if kind in ("version", "path", "word"):  # a wheel's file name may stand for its version
        return "text"
    return "any" if isinstance(value, list) else kind


def _repeated(rows: list[_Row], key: str) -> Iterator[str]:
    first: dict[str, str] = {}
    for where, row in rows:
        value = row.get(key)
        if isinstance(value, str) and value in first:
            yield f"{where}.{key}: {value!r} is there already, at {first[value]}"
        elif isinstance(value, str):
            first[value] = where


def _follows(rows: list[_Row]) -> Iterator[str]:
    above = {str(row.get("id")): _deeper(row) for _, row in rows}
    for where, row in rows:
        for other in _deeper(row):
            if other not in above:
                yield f"{where}.follows: no rule {other!r}"
        if row.get("id") in _ancestors(str(row.get("id")), above):
            yield f"{where}.follows: {row['id']} would follow itself"


def _deeper(row: Mapping[str, Any]) -> tuple[str, ...]:
    follows = row.get("follows")
    return tuple(map(str, follows)) if isinstance(follows, list) else ()


def _ancestors(start: str, above: Mapping[str, tuple[str, ...]]) -> set[str]:
    seen: set[str] = set()
    left = list(above[start])
    while left:
        current = left.pop()
        if current not in seen:
            seen.add(current)
            left += above.get(current, ())
    return seen


def _rule(row: Mapping[str, Any]) -> Rule:
    fix = row["fix"]
    return Rule(
        id=row["id"],
        name=row["name"],
        cause=row.get("cause", row["name"]),
        title=row["title"],
        layer=row["layer"],
        severity=row["severity"],
        unrequired=row.get("unrequired", row["severity"]),
        basis=row["basis"],
        fix=Fix(
            text=fix["text"],
            commands=tuple(fix.get("commands", ())),
            safety=fix.get("safety", "manual"),
        ),
        sources=tuple(
            Source(url=source["url"], checked=date.fromisoformat(source["checked"]))
            for source in row["source"]
        ),
        examples=tuple(_example(example) for example in row["example"]),
        component=row.get("component"),
        when=row.get("when"),
        check=row.get("check"),
        follows=tuple(row.get("follows", ())),
        evidence=tuple(row.get("evidence", ())),
        outside=row.get("outside", False),
        decides=tuple(row.get("decides", ())),
        note=row.get("note", ""),
    )


def _example(row: Mapping[str, Any]) -> Example:
    facts = {path: None if value == _ABSENT else value for path, value in row["facts"].items()}
    return Example(facts=facts, expect=row["expect"], require=tuple(row.get("require", ())))
