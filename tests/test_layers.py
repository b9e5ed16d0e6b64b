"""Who may import whom: each layer only what stands left of it, checked on the syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "flashdoctor"

LAYERS: dict[str, int] = {
    "__init__": 0,
    "errors": 0,
    "model": 1,
    "data": 2,
    "target": 2,
    "engine": 3,
    "logs": 3,
    "render": 3,
    "smoke": 4,
    "resolve": 4,  # over the engine: a plan is held against the rules before it is given out
    "tune": 4,
    "policy": 4,
    "model_folder": 5,
    "policy_file": 5,
    "pastes": 5,
    "probes": 5,
    "vllm_sources": 5,
    "upkeep": 5,
    "measure": 6,  # over the probes: a GPU's memory is sampled while a trial runs
    "pipeline": 6,
    "planning": 7,
    "cli": 8,
    "__main__": 9,
}
"""A module may import its own package and any package with a smaller number."""

ONLY_MODEL = {"render"}
"""These read the model and errors, nothing else of ours."""

PURE = {"model", "engine", "logs", "render", "smoke", "tune", "resolve", "policy"}
"""No environment, no processes, no clock, no files."""

EDGES = {"smoke/run.py", "smoke/quick.py", "smoke/plan.py"}
"""Exceptions in pure packages: what runs the children, what wires that, what names the Python."""

TARGETS = {"smoke/run.py"}
"""The modules of pure packages that may reach the target."""

IMPURE_MODULES = {"os", "subprocess", "time", "socket", "pathlib", "io", "shutil", "tempfile"}
IMPURE_CALLS = {"open", "exec", "eval", "input"}
HEAVY = {"torch", "triton", "vllm", "ray"}


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "_matrices" not in path.parts)


def layer_name(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def module_name(path: Path) -> str:
    return str(path.relative_to(PACKAGE).as_posix())


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def ours(path: Path) -> set[str]:
    names = imported(ast.parse(path.read_text(encoding="utf-8")))
    parts = (name.split(".") for name in names if name.startswith("flashdoctor."))
    return {part[1] for part in parts}


def test_every_package_has_a_layer() -> None:
    assert {layer_name(path) for path in modules()} - {"agents", "examples"} <= set(LAYERS)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_left(path: Path) -> None:
    name = layer_name(path)
    found = {other for other in ours(path) if other in LAYERS or (PACKAGE / other).exists()}
    if name == "agents":
        assert not found
        return
    allowed = {other for other, layer in LAYERS.items() if layer < LAYERS[name]} | {name}
    if name in ONLY_MODEL:
        allowed = {"model", "errors", name}
    if name in PURE and module_name(path) not in TARGETS:
        allowed -= {"target"}
    assert found <= allowed


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_torch_and_the_like_stay_out_of_our_process(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if layer_name(path) == "agents":
        top = ast.Module(
            body=[node for node in tree.body if not is_definition(node)], type_ignores=[]
        )
        heads = {name.split(".")[0] for name in imported(top)}
    else:
        heads = {name.split(".")[0] for name in imported(tree)}
    assert not heads & HEAVY


def is_definition(node: ast.stmt) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.ClassDef))


@pytest.mark.parametrize(
    "path",
    [path for path in modules() if layer_name(path) in PURE and module_name(path) not in EDGES],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_pure_layers_touch_nothing(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    heads = {name.split(".")[0] for name in imported(tree)}
    assert not heads & IMPURE_MODULES
    calls = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & IMPURE_CALLS
