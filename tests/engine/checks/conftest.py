from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.engine.view import Judgement, View


@pytest.fixture
def ask(look: Callable[..., View]) -> Callable[..., Judgement]:
    """Ask one check about stated facts; a skip is its MissingFactError."""

    def judge(check: str, facts: dict[str, Any], *require: str) -> Judgement:
        name = check.replace("-", "_")
        module = importlib.import_module(f"flashdoctor.engine.checks.{name}")
        judgement: Judgement = module.judge(look(facts, *require))
        return judgement

    return judge
