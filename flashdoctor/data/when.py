"""The structure of the `when` language: whether a condition can be judged at all.

    { fact = "PATH", op = "OP", value = X }    or ref = "OTHER.PATH" instead of value
    { all = [...] }  { any = [...] }  { not = {...} }  { required = "flash-attn" }

Values must be of the kind that the catalog gives the fact: a version that can be ordered, a
compute capability such as 9.0, a number, a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from flashdoctor.data.schema import OPERATORS
from flashdoctor.data.shape import kind_of
from flashdoctor.model.catalog import FACTS, nearest
from flashdoctor.model.rule import COMPONENTS
from flashdoctor.model.versions import capability, release

_ORDERINGS = ("lt", "le", "gt", "ge")
_SERIES = ("same_minor", "same_major", "differs_minor", "differs_major")
_MEMBERS: Mapping[str, str] = {
    "versions": "version",
    "capabilities": "capability",
    "targets": "target",
    "texts": "text",
    "paths": "text",
}
_SPECIFIER = re.compile(r"\s*(===?|!=|~=|<=|>=|<|>)\s*v?\d[\w.*+!-]*\s*")
_COMPARISON_KEYS = ("fact", "op", "value", "ref")
_FAMILY = {"word": "text", "path": "text", "float": "int"}


def condition_mistakes(path: str, node: Any) -> Iterator[str]:
    """Yield the mistakes in one condition and in all that stand inside it."""
    if not isinstance(node, dict):
        yield f"{path}: expected a table, got {kind_of(node)}"
    elif "fact" in node:
        yield from _comparison(path, node)
    elif len(node) != 1:
        yield f"{path}: expected one of fact, all, any, not, required, got {', '.join(node)}"
    else:
        [(word, inner)] = node.items()
        yield from _combination(path, word, inner)


def _combination(path: str, word: str, inner: Any) -> Iterator[str]:
    if word == "not":
        yield from condition_mistakes(f"{path}.not", inner)
    elif word == "required":
        if inner not in COMPONENTS:
            yield f"{path}.required: expected one of {', '.join(COMPONENTS)}, got {inner!r}"
    elif word not in ("all", "any"):
        yield f"{path}: unknown word {word!r}"
    elif not isinstance(inner, list) or not inner:
        yield f"{path}.{word}: expected a list of at least one condition"
    else:
        for number, part in enumerate(inner):
            yield from condition_mistakes(f"{path}.{word}[{number}]", part)


def _comparison(path: str, node: Mapping[str, Any]) -> Iterator[str]:
    fact, op = node["fact"], node.get("op")
    yield from (f"{path}.{key}: unknown key" for key in node if key not in _COMPARISON_KEYS)
    yield from path_mistakes(f"{path}.fact", fact)
    if op not in OPERATORS:
        yield f"{path}.op: expected one of {', '.join(OPERATORS)}, got {op!r}"
    elif op in ("known", "absent"):
        if "value" in node or "ref" in node:
            yield f"{path}: {op!r} takes neither `value` nor `ref`"
    elif ("value" in node) == ("ref" in node):
        yield f"{path}: expected `value` or `ref`, one of them"
    elif _is_fact(fact):
        yield from _operands(path, FACTS[fact].kind, op, node)


def path_mistakes(where: str, path: Any) -> Iterator[str]:
    """Yield a mistake where `path` is not a fact that the catalog knows."""
    if not isinstance(path, str):
        yield f"{where}: expected text, got {kind_of(path)}"
    elif path not in FACTS:
        close = nearest(path)
        yield f"{where}: no fact {path!r}" + (f", did you mean {close!r}?" if close else "")


def _is_fact(path: Any) -> bool:
    return isinstance(path, str) and path in FACTS


def _operands(path: str, kind: str, op: str, node: Mapping[str, Any]) -> Iterator[str]:
    fits = _kinds_for(op)
    if fits and kind not in fits:
        yield f"{path}.op: {op!r} does not fit {node['fact']}, a {kind}"
    elif not fits and (kind in _MEMBERS or kind == "records"):
        yield f"{path}.op: {op!r} does not fit {node['fact']}, a list"
    elif "ref" in node:
        yield from path_mistakes(f"{path}.ref", node["ref"])
        if _is_fact(node["ref"]):
            yield from _reference(path, kind, op, node["ref"])
    else:
        yield from _value(f"{path}.value", kind, op, node["value"])


def _kinds_for(op: str) -> tuple[str, ...]:
    """Return the kinds of fact that `op` can judge; nothing where any single value will do."""
    if op in _ORDERINGS:
        return ("version", "capability", "int", "float")
    if op in _SERIES:
        return ("version", "capability", "word")
    if op in ("contains", "lacks"):
        return tuple(_MEMBERS)
    if op == "matches":
        return ("text", "word", "path", "version")
    return ("version",) if op in ("satisfies", "violates") else ()


def _reference(path: str, kind: str, op: str, ref: str) -> Iterator[str]:
    other = FACTS[ref].kind
    if op in ("in", "not_in"):
        fits = _MEMBERS.get(other) == kind or (_MEMBERS.get(other) == "text" and kind == "word")
    elif op in ("contains", "lacks"):
        fits = _family(other) == _family(_MEMBERS[kind])
    elif op in ("matches", "satisfies", "violates"):
        fits = other in ("text", "word")
    elif op in _SERIES:
        fits = other in ("version", "capability", "word")
    else:
        fits = _family(other) == _family(kind)
    if not fits:
        yield f"{path}.ref: {ref}, a {other}, cannot stand here"


def _family(kind: str) -> str:
    return _FAMILY.get(kind, kind)


def _value(where: str, kind: str, op: str, value: Any) -> Iterator[str]:
    if op in ("in", "not_in"):
        if not isinstance(value, list) or not value:
            yield f"{where}: expected a list of at least one value"
            return
        for number, item in enumerate(value):
            yield from value_mistakes(f"{where}[{number}]", kind, item)
    elif op == "matches":
        yield from _pattern(where, value)
    elif op in ("satisfies", "violates"):
        if not isinstance(value, str) or not all(map(_SPECIFIER.fullmatch, value.split(","))):
            yield f"{where}: expected version specifiers such as '>=2.1,<3', got {value!r}"
    elif op in _SERIES:
        yield from value_mistakes(where, "version", value)
    else:
        yield from value_mistakes(where, _MEMBERS.get(kind, kind), value)


def _pattern(where: str, value: Any) -> Iterator[str]:
    try:
        re.compile(value)
    except (re.error, TypeError) as error:
        yield f"{where}: not a regular expression: {error}"


def value_mistakes(where: str, kind: str, value: Any) -> Iterator[str]:
    """Yield a mistake where `value` cannot be a value of this kind; `any` takes every value."""
    if kind == "any":
        return
    if kind in ("int", "float"):
        if type(value) not in (int, float):
            yield f"{where}: expected a number, got {kind_of(value)}"
    elif kind == "bool":
        if type(value) is not bool:
            yield f"{where}: expected true or false, got {kind_of(value)}"
    elif not isinstance(value, str):
        yield f"{where}: expected text, got {kind_of(value)}"
    elif kind == "version" and release(value) is None:
        yield f"{where}: expected a version, got {value!r}"
    elif kind in ("capability", "target") and capability(value) is None:
        yield f"{where}: expected a {kind}, got {value!r}"
