"""The signatures and causes of matrices/signatures, checked as a whole and made into objects."""

from __future__ import annotations

import re
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
from flashdoctor.model.log import Cause, Signature

ABSENT = "absent"
"""As a value of `sets`: the line says that there is no such thing."""

CONVERTERS: Mapping[str, tuple[str, ...]] = {
    "cuda_number": ("version",),
    "mib_to_gib": ("float",),
    "bytes_to_gib": ("float",),
    "memory_account": ("float",),
    "attention_backend": ("word",),
    "capability_pair": ("capability",),
    "symbol": ("text",),
    "library": ("path",),
}
"""What `convert` may name, and the kinds of fact that it gives."""

_GROUP = "signatures"
_ID = re.compile(r"LS\d{4}")
_SHORTEST_KEYWORD = 4
_FEWEST_HITS = 2


def load_signatures(tables: Tables) -> tuple[Signature, ...]:
    """Return every signature by id; one `MatrixError` lists every mistake in all their files.

    Compiled tables were checked when the wheel was built and are not checked again.
    """
    _check(tables)
    return tuple(sorted(map(_signature, _rows(tables, "signature")), key=lambda row: row.id))


def load_causes(tables: Tables) -> Mapping[str, Cause]:
    """Return every cause by its name; `MatrixError` as for the signatures."""
    _check(tables)
    return {row["name"]: _cause(row) for row in _rows(tables, "cause")}


def _check(tables: Tables) -> None:
    if not tables.compiled:
        mistakes = tables.derived("signature mistakes", signature_mistakes)
        if mistakes:
            raise MatrixError("\n".join(mistakes))


def _rows(tables: Tables, section: str) -> Iterator[Mapping[str, Any]]:
    for name in tables.group(_GROUP):
        yield from tables.table(name).get(section, ())


def signature_mistakes(tables: Tables) -> list[str]:
    """Return every mistake in the signatures: of form, of sense, and between the rows."""
    mistakes: list[str] = []
    causes: list[Row] = []
    signatures: list[Row] = []
    for name in tables.group(_GROUP):
        table, malformed = tables.examine(name)
        mistakes += malformed + file_mistakes(name, table, malformed)
        causes += rows_in(name, table, "cause")
        signatures += rows_in(name, table, "signature")
    return [*mistakes, *_between(causes, signatures)]


def file_mistakes(name: str, table: Mapping[str, Any], malformed: list[str]) -> list[str]:
    """Return the mistakes in the sense of one file's rows; rows in `malformed` are passed over."""
    mistakes: list[str] = []
    for section, check in (("cause", _cause_mistakes), ("signature", _row_mistakes)):
        for where, row in rows_in(name, table, section):
            if not any(mistake.startswith(where) for mistake in malformed):
                mistakes += check(where, row)
    return mistakes


def _between(causes: list[Row], signatures: list[Row]) -> Iterator[str]:
    yield from repeated(causes, "name")
    yield from link_mistakes(causes, "name", "explained_by", "cause")
    yield from repeated(signatures, "id")
    yield from repeated(signatures, "name")
    names = {row.get("name") for _, row in causes}
    for where, row in signatures:
        if "cause" in row and row["cause"] not in names:
            yield f"{where}.cause: no cause {row['cause']!r}"


def _cause_mistakes(where: str, row: Mapping[str, Any]) -> Iterator[str]:
    yield from placeholder_mistakes(f"{where}.fix", row["fix"])
    if (row["layer"] == "benign") != (row["severity"] == "info"):
        yield f"{where}.severity: info and the layer benign belong together"


def _row_mistakes(where: str, row: Mapping[str, Any]) -> Iterator[str]:
    from flashdoctor.data.when import condition_mistakes  # noqa: PLC0415  a wheel needs no check

    if not _ID.fullmatch(row["id"]):
        yield f"{where}.id: expected LS and four digits: {row['id']!r}"
    for number, keyword in enumerate(row["keywords"]):
        if keyword != keyword.lower() or len(keyword) < _SHORTEST_KEYWORD:
            yield f"{where}.keywords[{number}]: expected 4 small letters or more: {keyword!r}"
    for key in ("when", "unless"):
        if key in row:
            yield from condition_mistakes(f"{where}.{key}", row[key])
    if "fix" in row:
        yield from placeholder_mistakes(f"{where}.fix", row["fix"])
    if "cause" not in row and not row.get("captures") and not row.get("sets"):
        yield f"{where}: neither points at a cause nor states a fact"
    yield from _pattern_mistakes(where, row)
    yield from _set_mistakes(f"{where}.sets", row.get("sets", {}))
    yield from _sample_mistakes(where, row)


def _pattern_mistakes(where: str, row: Mapping[str, Any]) -> Iterator[str]:
    from flashdoctor.data.pattern import slow_parts  # noqa: PLC0415  as above

    pattern = row.get("pattern", "")
    yield from (f"{where}.pattern: {part}" for part in slow_parts(pattern))
    captures, convert = row.get("captures", {}), row.get("convert", {})
    groups = re.compile(pattern).groupindex
    for group, path in captures.items():
        if group not in groups:
            yield f"{where}.captures.{group}: the pattern has no group of that name"
        yield from _path_mistakes(f"{where}.captures.{group}", path)
    yield from (f"{where}.pattern: nobody takes (?P<{name}>)" for name in groups.keys() - captures)
    for group, name in convert.items():
        yield from _convert_mistakes(f"{where}.convert.{group}", name, captures.get(group))


def _path_mistakes(where: str, path: Any) -> Iterator[str]:
    from flashdoctor.data.when import path_mistakes  # noqa: PLC0415  as above
    from flashdoctor.model.catalog import FACTS  # noqa: PLC0415  as above

    yield from path_mistakes(where, path)
    if path in FACTS and FACTS[path].kind == "records":
        yield f"{where}: {path} holds records, which no text gives"


def _convert_mistakes(where: str, name: Any, path: Any) -> Iterator[str]:
    from flashdoctor.model.catalog import FACTS  # noqa: PLC0415  as above

    if name not in CONVERTERS:
        yield f"{where}: expected one of {', '.join(CONVERTERS)}, got {name!r}"
    elif path is None:
        yield f"{where}: no such capture"
    elif path in FACTS and FACTS[path].kind not in CONVERTERS[name]:
        yield f"{where}: {name} does not give a {FACTS[path].kind}"


def _set_mistakes(where: str, sets: Mapping[str, Any]) -> Iterator[str]:
    from flashdoctor.data.when import path_mistakes, value_mistakes  # noqa: PLC0415  as above
    from flashdoctor.model.catalog import FACTS  # noqa: PLC0415  as above

    for path, value in sets.items():
        yield from path_mistakes(where, path)
        if path in FACTS and value != ABSENT:
            kind = FACTS[path].kind
            plain = "text" if kind in ("word", "path") else kind
            yield from value_mistakes(
                f"{where}.{path}", "any" if isinstance(value, list) else plain, value
            )


def _sample_mistakes(where: str, row: Mapping[str, Any]) -> Iterator[str]:
    if len(row["hits"]) < _FEWEST_HITS:
        yield f"{where}.hits: expected {_FEWEST_HITS} or more"
    for key in ("hits", "misses"):
        for number, sample in enumerate(row[key]):
            here = f"{where}.{key}[{number}]"
            text = sample.get("text") if isinstance(sample, dict) else sample
            if not isinstance(text, str) or not text.strip() or "\n" in text:
                yield f"{here}: expected one line of text"
            if isinstance(sample, dict):
                yield from _sample_facts(here, sample)


def _sample_facts(where: str, sample: Mapping[str, Any]) -> Iterator[str]:
    from flashdoctor.data.when import path_mistakes  # noqa: PLC0415  as above

    yield from (f"{where}.{key}: unknown key" for key in sample.keys() - {"text", "facts"})
    for path in sample.get("facts", {}):
        yield from path_mistakes(f"{where}.facts", path)


def _cause(row: Mapping[str, Any]) -> Cause:
    return Cause(
        name=row["name"],
        title=row["title"],
        layer=row["layer"],
        severity=row["severity"],
        fix=make_fix(row["fix"]),
        explained_by=tuple(row.get("explained_by", ())),
        ask=tuple(row.get("ask", ())),
        sources=make_sources(row),
    )


def _signature(row: Mapping[str, Any]) -> Signature:
    sets = row.get("sets", {})
    return Signature(
        id=row["id"],
        name=row["name"],
        keywords=tuple(row["keywords"]),
        pattern=row.get("pattern", ""),
        cause=row.get("cause"),
        strength=row.get("strength", "proof"),
        severity=row.get("severity"),
        title=row.get("title"),
        captures=row.get("captures", {}),
        convert=row.get("convert", {}),
        sets={path: None if value == ABSENT else value for path, value in sets.items()},
        when=row.get("when"),
        unless=row.get("unless"),
        fix=make_fix(row["fix"]) if "fix" in row else None,
        note=row.get("note", ""),
        sources=make_sources(row),
    )
