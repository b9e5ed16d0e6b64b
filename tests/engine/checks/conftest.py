from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.engine.derive import derive
from flashdoctor.engine.view import Judgement, View
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import known_or_absent


@pytest.fixture
def look() -> Callable[..., View]:
    """Make what a check sees of stated facts; None as a value means absent."""

    def make(facts: dict[str, Any], *require: str) -> View:
        tables = load_tables()
        stated = snapshots.of(known_or_absent(path, facts[path], "test") for path in facts)
        return View(derive(stated, tables), tables, frozenset(require))

    return make


@pytest.fixture
def ask(look: Callable[..., View]) -> Callable[..., Judgement]:
    """Ask one check about stated facts; a skip is its MissingFactError."""

    def judge(check: str, facts: dict[str, Any], *require: str) -> Judgement:
        name = check.replace("-", "_")
        module = importlib.import_module(f"flashdoctor.engine.checks.{name}")
        judgement: Judgement = module.judge(look(facts, *require))
        return judgement

    return judge
