"""Check every table and write it as JSON, for the wheel.

Runs while a wheel is built, where only the standard library is there: nothing else is imported.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from flashdoctor.data.rules import rule_mistakes
from flashdoctor.data.signatures import signature_mistakes
from flashdoctor.data.tables import COMPILED, Tables
from flashdoctor.errors import MatrixError

if TYPE_CHECKING:
    from importlib.abc import Traversable


def table_mistakes(tables: Tables) -> list[str]:
    """Return every mistake in every TOML table, rule and signature."""
    apart = {*tables.group("rules"), *tables.group("signatures")}
    others = (name for name in tables.names() if name not in apart)
    mistakes = [mistake for name in others for mistake in tables.examine(name)[1]]
    return mistakes + rule_mistakes(tables) + signature_mistakes(tables)


def verify(folder: Traversable) -> list[str]:
    """Return every mistake in a matrices folder, stale or missing JSON of a wheel included."""
    written, compiled = Tables(folder, toml=True), Tables(folder)
    mistakes = table_mistakes(written)
    if mistakes or not compiled.compiled:
        return mistakes
    names = dict.fromkeys((*written.names(), *compiled.names()))
    return [
        f"{COMPILED}/{name}.json: differs from {name}.toml"
        for name in names
        if name not in written.names()
        or name not in compiled.names()
        or written.table(name) != compiled.table(name)
    ]


def compile_matrices(source: Path, target: Path) -> None:
    """Copy the matrices in `source` to `target` and add `compiled/*.json`.

    `target` must not exist yet. A mistake in any table is a `MatrixError`, and nothing is written.
    """
    tables = Tables(source, toml=True)
    mistakes = table_mistakes(tables)
    if mistakes:
        raise MatrixError("\n".join(mistakes))
    shutil.copytree(source, target)
    for name in tables.names():
        file = target / COMPILED / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(tables.table(name), ensure_ascii=False, separators=(",", ":"))
        file.write_text(text + "\n", encoding="utf-8")
