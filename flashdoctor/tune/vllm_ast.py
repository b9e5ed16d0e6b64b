"""The flags of `vllm serve` as a vLLM's own sources define them: read as syntax, never run. Pure.

Up to 0.8.3 the parser is a list of `add_argument` calls; later releases make most of its arguments
from the fields of their configuration classes (`get_kwargs`), and what a field's annotation gives
is worked out here as vLLM/engine/arg_utils.py does it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from flashdoctor.tune.flags import Flag
from flashdoctor.tune.vllm_annotations import (
    DEPTH,
    Names,
    dashed,
    flag_of_annotation,
    head_of,
    parse_module,
)

REGISTER = (
    "vllm/engine/arg_utils.py",
    "vllm/entrypoints/openai/cli_args.py",
    "vllm/entrypoints/launchers/cli_args.py",
    "vllm/entrypoints/common/cli_args.py",
    "vllm/entrypoints/cli/serve.py",
    "vllm/scripts.py",
)
"""Where the flags of the server are registered, by release; those that are there count."""

DEFINE = ("vllm/config.py", "vllm/config/", *REGISTER)
"""Where the classes and names stand that registrations refer to; a name with / is a folder."""

_TYPES: Mapping[str, str] = {
    "int": "int",
    "float": "float",
    "str": "text",
    "loads": "json",
    "nullable_kvs": "text",
    "union_dict_and_str": "text",
    "human_readable_int": "size",
    "human_readable_int_or_auto": "size",
}
_ACTIONS: Mapping[str, str] = {
    "store_true": "store_true",
    "StoreBoolean": "store_boolean",
    "BooleanOptionalAction": "bool_optional",
    "append": "append",
    "version": "version",
}


class _Place(NamedTuple):
    """The function that a call stands in, with the class around it, if any."""

    owner: str
    body: ast.FunctionDef


def read_flags(sources: Mapping[str, str]) -> dict[str, Flag]:
    """Return the flags that the files at `sources` (path inside site-packages: text) register.

    A file that is no Python is left out. Nothing is returned where none of them registers flags.
    """
    trees = {
        path: tree for path, text in sources.items() if (tree := parse_module(text)) is not None
    }
    names = Names(trees)
    flags: dict[str, Flag] = {}
    for path in REGISTER:
        if path in trees:
            for flag in _Reader(trees, trees[path], names).flags(
                only_serve=path.endswith("scripts.py")
            ):
                flags.setdefault(flag.name, flag)
    return flags


class _Reader:
    """Reads the registrations of one file."""

    def __init__(self, trees: Mapping[str, ast.Module], tree: ast.Module, names: Names) -> None:
        self.tree = tree
        self.names = names
        self.registered = {
            head_of(node.func.value)
            for one in trees.values()
            for node in ast.walk(one)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "add_cli_args"
        }
        self.changes = dict(_changes(tree))

    def flags(self, *, only_serve: bool) -> Iterator[Flag]:
        for place in _places(self.tree):
            kwargs = _kwargs_classes(place)
            for call, loop in _calls(place.body, ()):
                if only_serve and head_of(_receiver(call)) != "serve_parser":
                    continue
                if loop is not None and _iterates(loop, kwargs):
                    yield from self._of_fields(place, kwargs[_iterated(loop)])
                else:
                    yield from self._of_call(call, loop, kwargs)

    def _of_fields(self, place: _Place, name: str) -> Iterator[Flag]:
        for owner in self._actual(place.owner) if name == "cls" else (name,):
            for field, annotation in self.names.fields_of(owner).items():
                flag = flag_of_annotation(field, annotation, self.names)
                yield _changed(flag, self.changes.get(field, {}))

    def _actual(self, owner: str) -> list[str]:
        """Return the classes that inherit a registering method and are really registered."""
        heirs = [
            name
            for name in sorted(self.registered)
            if owner in (name, *self._ancestors(name)) and name in self.names.classes
        ]
        return heirs or [owner]

    def _ancestors(self, name: str, depth: int = 0) -> Iterator[str]:
        known = self.names.classes.get(name)
        for base in known.bases if known and depth < DEPTH else ():
            yield base
            yield from self._ancestors(base, depth + 1)

    def _of_call(
        self, call: ast.Call, loop: ast.For | None, kwargs: Mapping[str, str]
    ) -> Iterator[Flag]:
        words = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
        texts = [word for word in words if isinstance(word, str) and word.startswith("-")]
        long = [word for word in texts if word.startswith("--")]
        if not long and loop is not None:
            yield from self._of_loop(call, loop)
        if long:
            flag = self._described(long[0].removeprefix("--"), call, kwargs)
            aliases = tuple(word for word in texts if word != long[0])
            yield flag._replace(name=dashed(long[0].removeprefix("--")), aliases=aliases)

    def _of_loop(self, call: ast.Call, loop: ast.For) -> Iterator[Flag]:
        """Read `for name in ["a", "b"]: group.add_argument(f"--{name}", ...)`."""
        if any(isinstance(arg, ast.JoinedStr) for arg in call.args):
            for node in getattr(loop.iter, "elts", ()):
                first = node.elts[0] if isinstance(node, ast.Tuple) else node
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    name = dashed(first.value.removeprefix("--"))
                    yield self._described(name, call, {})._replace(name=name)

    def _described(self, name: str, call: ast.Call, kwargs: Mapping[str, str]) -> Flag:
        flag = Flag(name)
        stated: dict[str, ast.expr] = {}
        for keyword in call.keywords:
            if keyword.arg is not None:
                stated[keyword.arg] = keyword.value
                continue
            for owner, field in _taken(keyword.value, kwargs):
                annotation = self.names.fields_of(owner).get(field)
                if annotation is not None:
                    flag = flag_of_annotation(field, annotation, self.names)
                    flag = _changed(flag, self.changes.get(field, {}))
        return _changed(flag, stated)


def _places(tree: ast.Module) -> Iterator[_Place]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from (_Place(node.name, item) for item in node.body if _is_function(item))  # type: ignore[arg-type]  # what _is_function says
        elif isinstance(node, ast.FunctionDef):
            yield _Place("", node)


def _is_function(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef)


def _calls(node: ast.AST, loops: tuple[ast.For, ...]) -> Iterator[tuple[ast.Call, ast.For | None]]:
    """Yield each `x.add_argument(...)` inside `node`, in order, with the loop it stands in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and head_of(child.func) == "add_argument":
            yield child, loops[-1] if loops else None
        inner = (*loops, child) if isinstance(child, ast.For) else loops
        yield from _calls(child, inner)


def _receiver(call: ast.Call) -> ast.expr | None:
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def _kwargs_classes(place: _Place) -> dict[str, str]:
    """Return which class each `x_kwargs = get_kwargs(Class)` of a function takes."""
    found: dict[str, str] = {}
    for node in ast.walk(place.body):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            target, call = node.targets[0], node.value
            if isinstance(target, ast.Name) and head_of(call.func) == "get_kwargs" and call.args:
                found[target.id] = head_of(call.args[0])
    return found


def _iterated(loop: ast.For) -> str:
    call = loop.iter
    owner = (
        call.func.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        else None
    )
    return head_of(owner)


def _iterates(loop: ast.For, kwargs: Mapping[str, str]) -> bool:
    return _iterated(loop) in kwargs


def _taken(node: ast.expr, kwargs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield class and field for each `x_kwargs["field"]` in what a call is handed."""
    for part in ast.walk(node):
        if isinstance(part, ast.Subscript) and head_of(part.value) in kwargs:
            key = part.slice
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield kwargs[head_of(part.value)], key.value


def _changes(tree: ast.Module) -> Iterator[tuple[str, dict[str, ast.expr | None]]]:
    """Yield what `x_kwargs["field"]["type"] = ...` and `del x_kwargs["field"]["nargs"]` change."""
    found: dict[str, dict[str, ast.expr | None]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            _take_change(node.targets[0], node.value, found)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                _take_change(target, None, found)
    yield from found.items()


def _take_change(
    target: ast.expr, value: ast.expr | None, found: dict[str, dict[str, ast.expr | None]]
) -> None:
    inner = target.value if isinstance(target, ast.Subscript) else None
    if not isinstance(inner, ast.Subscript) or not head_of(inner.value).endswith("kwargs"):
        return
    field, key = _constant(inner.slice), _constant(target.slice)  # type: ignore[attr-defined]  # a Subscript, seen above
    if isinstance(field, str) and isinstance(key, str):
        found.setdefault(field, {})[key] = value


def _constant(node: ast.expr | None) -> Any:
    return node.value if isinstance(node, ast.Constant) else None


def _changed(flag: Flag, stated: Mapping[str, ast.expr | None]) -> Flag:
    """Return a flag with what the keywords of its registration say."""
    if "nargs" in stated:
        count = _constant(stated["nargs"])
        flag = flag._replace(many=count in ("+", "*"), optional=count == "?")
    action = stated.get("action")
    if action is not None:
        word = _constant(action) or head_of(action)
        flag = flag._replace(kind=_ACTIONS.get(word, word))
    if stated.get("type") is not None:
        flag = flag._replace(takes=_takes(stated["type"]))
    choices = stated.get("choices")
    if choices is not None:
        flag = flag._replace(choices=_constants(choices))
    return flag


def _takes(node: ast.expr | None) -> str:
    """Return what a `type=` reads: `int`, `optional_type(json.loads)`, a lambda."""
    if isinstance(node, ast.Call) and node.args:
        return _takes(node.args[0])
    return _TYPES.get(head_of(node), "text")


def _constants(node: ast.expr) -> tuple[Any, ...] | None:
    elements = getattr(node, "elts", None)
    if elements is None or not all(isinstance(item, ast.Constant) for item in elements):
        return None
    return tuple(item.value for item in elements)
