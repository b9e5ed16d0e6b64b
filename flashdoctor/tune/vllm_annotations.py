"""What vLLM's get_kwargs makes of a configuration field: the flag that its annotation gives. Pure.

Source: vLLM 0.8.5 to 0.33.0, vllm/engine/arg_utils.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from flashdoctor.tune.flags import Flag

DEPTH = 8
_SCALARS = frozenset({"int", "float", "str", "bool", "dict", "Dict", "None", "Any"})
_COLLECTIONS = frozenset({"list", "List", "tuple", "Tuple", "set", "Sequence"})
_WRAPPERS = frozenset({"Optional", "Union", "Annotated", "SkipValidation", "InitVar"})
_SIZES = frozenset(
    {
        "max_model_len",
        "max_num_batched_tokens",
        "max_num_scheduled_tokens",
        "max_num_queued_tokens",
        "kv_cache_memory_bytes",
        "safetensors_prefetch_block_size",
    }
)


class _Class(NamedTuple):
    bases: tuple[str, ...]
    fields: Mapping[str, ast.expr]


class Names:
    """Classes and type aliases of all files, by name."""

    def __init__(self, trees: Mapping[str, ast.Module]) -> None:
        self.classes: dict[str, _Class] = {}
        self.aliases: dict[str, ast.expr] = {}
        for tree in trees.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    self.classes.setdefault(node.name, _read_class(node))
            for statement in tree.body:
                self._take_alias(statement)

    def _take_alias(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            self.aliases.setdefault(node.targets[0].id, node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            self.aliases.setdefault(node.target.id, node.value)

    def fields_of(self, name: str, depth: int = 0) -> dict[str, ast.expr]:
        """Return the annotations of a class's fields, inherited ones first."""
        known = self.classes.get(name)
        if known is None or depth > DEPTH:
            return {}
        found: dict[str, ast.expr] = {}
        for base in known.bases:
            found.update(self.fields_of(base, depth + 1))
        return {**found, **known.fields}


def parse_module(text: str) -> ast.Module | None:
    """Return the syntax tree of a file, None where it is no Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _read_class(node: ast.ClassDef) -> _Class:
    fields = {
        item.target.id: item.annotation
        for item in node.body
        if isinstance(item, ast.AnnAssign)
        and isinstance(item.target, ast.Name)
        and head_of(item.annotation) != "ClassVar"
    }
    return _Class(tuple(head_of(base) for base in node.bases), fields)


def head_of(node: ast.expr | None) -> str:
    """Return the last name of a reference: `list` for `list[int]`, `loads` for `json.loads`."""
    if isinstance(node, ast.Subscript):
        return head_of(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Constant) and node.value is None:
        return "None"
    return node.id if isinstance(node, ast.Name) else ""


def dashed(name: str) -> str:
    """Return the name of a flag for that of a field."""
    return name.replace("_", "-")


def flag_of_annotation(field: str, annotation: ast.expr, names: Names) -> Flag:
    """Return the flag that vLLM's get_kwargs makes of a field."""
    flag = Flag(dashed(field))
    parts = list(_parts(annotation, names))
    heads = [_plain(head_of(part), names) for part in parts]
    if any(head in names.classes and _is_config(head, names) for head in heads):
        return flag._replace(takes="json")
    if {"bool", "str"} <= set(heads) and set(heads) <= {"bool", "str", "None"}:
        return flag._replace(optional=True)
    if "bool" in heads:
        return flag._replace(kind="bool_optional")
    if "Literal" in heads:
        return _of_literal(flag, parts, heads)
    return _of_types(flag, field, parts, heads, names)


def _of_literal(flag: Flag, parts: list[ast.expr], heads: list[str]) -> Flag:
    choices = _constants_of(next(part for part in parts if head_of(part) == "Literal"))
    takes = "int" if choices and isinstance(choices[0], int) else "text"
    return flag._replace(takes=takes, choices=choices, open="str" in heads)


def _of_types(
    flag: Flag, field: str, parts: list[ast.expr], heads: list[str], names: Names
) -> Flag:
    for place, head in enumerate(heads):
        if head in _COLLECTIONS:
            element = _elements(parts[place])
            inner = [head_of(part) for item in element for part in _parts(item, names)]
            takes = inner[0] if len(set(inner)) == 1 and inner[0] in ("int", "float") else "text"
            return flag._replace(many=True, takes=takes)
    if "int" in heads:
        return flag._replace(takes="size" if field in _SIZES else "int")
    if "float" in heads:
        return flag._replace(takes="float")
    if "dict" in heads or "Dict" in heads:
        others = set(heads) - {"dict", "Dict", "None", "Any"}
        return flag._replace(takes="text" if others else "json")
    return flag


def _plain(head: str, names: Names) -> str:
    """Return `dict` for a subclass of it, which vLLM reads as a dict."""
    known = names.classes.get(head)
    return "dict" if known is not None and "dict" in known.bases else head


def _is_config(name: str, names: Names) -> bool:
    """Whether a class is a dataclass: here, one that has annotated fields and is no enumeration."""
    known = names.classes[name]
    return not any("Enum" in base for base in known.bases) and bool(names.fields_of(name))


def _parts(node: ast.expr, names: Names, depth: int = 0) -> Iterator[ast.expr]:
    """Yield the members of a union, wrappers and aliases resolved."""
    if depth > DEPTH:
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _parts(node.left, names, depth + 1)
        yield from _parts(node.right, names, depth + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        tree = parse_module(node.value)
        if tree and tree.body and isinstance(tree.body[0], ast.Expr):
            yield from _parts(tree.body[0].value, names, depth + 1)
    elif isinstance(node, ast.Subscript) and head_of(node) in _WRAPPERS:
        inner = _elements(node)
        for item in inner[:1] if head_of(node) == "Annotated" else inner:
            yield from _parts(item, names, depth + 1)
        if head_of(node) == "Optional":
            yield ast.Constant(None)
    elif isinstance(node, ast.Name) and node.id not in _SCALARS and node.id in names.aliases:
        yield from _parts(names.aliases[node.id], names, depth + 1)
    else:
        yield node


def _elements(node: ast.expr) -> list[ast.expr]:
    inner = node.slice if isinstance(node, ast.Subscript) else None
    if inner is None:
        return []
    return list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]


def _constants_of(literal: ast.expr) -> tuple[Any, ...] | None:
    values = _elements(literal)
    if not values or not all(isinstance(value, ast.Constant) for value in values):
        return None
    return tuple(value.value for value in values if isinstance(value, ast.Constant))
