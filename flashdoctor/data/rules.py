"""The rules of matrices/rules, checked as a whole and made into `Rule` objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flashdoctor.data.rows import (
    Row,
    link_mistakes,
    make_fix,
    make_sources,
    placeholder_mistakes,
    repeated,
    rows_in,
)
from flashdoctor.data.tables import Tables
from flashdoctor.errors import MatrixError
from flashdoctor.model.regex import regex
from flashdoctor.model.rule import Example, Rule

_ID = regex(r"FD[1-9]\d\d")
_ABSENT = "absent"


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
    rows: list[Row] = []
    for name in tables.group("rules"):
        table, malformed = tables.examine(name)
        mistakes += malformed
        for where, row in rows_in(name, table, "rule"):
            rows.append((where, row))
            if not any(mistake.startswith(where) for mistake in malformed):
                mistakes += _row_mistakes(where, row)
    return [
        *mistakes,
        *repeated(rows, "id"),
        *repeated(rows, "name"),
        *link_mistakes(rows, "id", "follows", "rule"),
    ]


def _row_mistakes(where: str, row: Mapping[str, Any]) -> Iterator[str]:
    from flashdoctor.data.when import condition_mistakes, path_mistakes  # noqa: PLC0415  as above

    if not _ID.fullmatch(row["id"]):
        yield f"{where}.id: expected FD and three digits, the first of them 1 to 9: {row['id']!r}"
    if ("when" in row) == ("check" in row):
        yield f"{where}: expected `when` or `check`, one of them"
    elif "when" in row:
        yield from condition_mistakes(f"{where}.when", row["when"])
    if "about" in row:
        yield from path_mistakes(f"{where}.about", row["about"])
    for number, path in enumerate(row.get("evidence", ())):
        yield from path_mistakes(f"{where}.evidence[{number}]", path)
    yield from placeholder_mistakes(f"{where}.fix", row["fix"])
    yield from _examples(f"{where}.example", row["example"])


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


def _rule(row: Mapping[str, Any]) -> Rule:
    return Rule(
        id=row["id"],
        name=row["name"],
        cause=row.get("cause", row["name"]),
        title=row["title"],
        layer=row["layer"],
        severity=row["severity"],
        unrequired=row.get("unrequired", row["severity"]),
        basis=row["basis"],
        fix=make_fix(row["fix"]),
        sources=make_sources(row),
        examples=tuple(_example(example) for example in row["example"]),
        component=row.get("component"),
        when=row.get("when"),
        check=row.get("check"),
        follows=tuple(row.get("follows", ())),
        evidence=tuple(row.get("evidence", ())),
        about=row.get("about"),
        outside=row.get("outside", False),
        decides=tuple(row.get("decides", ())),
        note=row.get("note", ""),
    )


def _example(row: Mapping[str, Any]) -> Example:
    facts = {path: None if value == _ABSENT else value for path, value in row["facts"].items()}
    return Example(facts=facts, expect=row["expect"], require=tuple(row.get("require", ())))
