from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import flashdoctor.agents
from flashdoctor.model.catalog import FACTS

FOLDER = Path(next(iter(flashdoctor.agents.__path__)))
FILES = sorted(path for path in FOLDER.glob("*.py") if path.name != "__init__.py")


def module_level_imports(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import has nothing to stand on in the target"
            found.add((node.module or "").partition(".")[0])
    return found


def test_there_are_agents() -> None:
    assert {"bootstrap.py", "collect.py", "live.py"} <= {path.name for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_agent_is_python_3_8_and_needs_the_standard_library_alone(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.isascii(), "Python 2.7 reads the program as ASCII"
    imported = module_level_imports(ast.parse(text, feature_version=(3, 8)))
    assert imported <= sys.stdlib_module_names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_agent_states_only_facts_of_the_catalogue(path: Path) -> None:
    groups = {fact.partition(".")[0] for fact in FACTS} - {"os"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        group, dot, rest = node.value.partition(".")
        if dot and group in groups and rest.replace("_", "").replace(".", "").isalpha():
            known_name = node.value in FACTS or f"{node.value}.extension" in FACTS
            assert known_name or node.value.endswith((".py", ".", ".cute", "interface")), node.value
