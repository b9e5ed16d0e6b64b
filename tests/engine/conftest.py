from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.engine.derive import derive
from flashdoctor.engine.view import View
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import known_or_absent
from flashdoctor.model.rule import Example, Fix, Rule, Source


@pytest.fixture
def make_rule() -> Any:
    """Build a rule row; what a test does not care about is filled in."""

    def build(**changes: Any) -> Rule:
        row: dict[str, Any] = {
            "id": "FD201",
            "name": "some-rule",
            "cause": "some-rule",
            "title": "Something is wrong",
            "layer": "torch",
            "severity": "error",
            "unrequired": "error",
            "basis": "documented",
            "fix": Fix(text="Do something."),
            "sources": (Source(url="a document", checked=date(2026, 11, 30)),),
            "examples": (Example(facts={}, expect="skip"),),
            "when": {"fact": "torch.version", "op": "lt", "value": "2.0"},
        }
        return Rule(**(row | changes))

    return build


@pytest.fixture
def look() -> Callable[..., View]:
    """Make what a check sees of stated facts; None as a value means absent."""

    def make(facts: dict[str, Any], *require: str) -> View:
        tables = load_tables()
        stated = snapshots.of(known_or_absent(path, facts[path], "test") for path in facts)
        return View(derive(stated, tables), tables, frozenset(require))

    return make
