"""Every rule of every family against its own examples."""

from __future__ import annotations

from importlib import import_module

import pytest

from flashdoctor.data.rules import load_rules
from flashdoctor.data.tables import load_tables
from flashdoctor.engine import runner
from flashdoctor.engine.derive import derive
from flashdoctor.engine.view import MissingFactError, View
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import known_or_absent
from flashdoctor.model.finding import Skipped
from flashdoctor.model.rule import Example, Rule

RULES = load_rules(load_tables())
CASES = [
    pytest.param(rule, example, id=f"{rule.id}-{number}")
    for rule in RULES
    for number, example in enumerate(rule.examples)
]


def view_of(example: Example) -> View:
    stated = snapshots.of(
        known_or_absent(path, value, "example") for path, value in example.facts.items()
    )
    tables = load_tables()
    return View(derive(stated, tables), tables, frozenset(example.require))


def judge(rule: Rule, example: Example) -> str:
    result = runner.judge(rule, view_of(example))
    if isinstance(result, Skipped):
        return "skip"
    if result is None:
        return "pass"
    return f"crash: {result.detail}" if result.outcome == "crash" else "fail"


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_a_rule_says_of_its_example_what_the_row_claims(rule: Rule, example: Example) -> None:
    assert judge(rule, example) == example.expect, (rule.name, dict(example.facts))


@pytest.fixture(scope="module")
def views() -> list[View]:
    """Every stack that any rule has as an example."""
    return [view_of(example) for rule in RULES for example in rule.examples]


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.about], ids=lambda rule: rule.id)
def test_a_rule_has_nothing_to_say_without_what_it_is_about(rule: Rule, views: list[View]) -> None:
    assert rule.about is not None
    assert rule.check is not None
    check = import_module(f"{runner.CHECKS}.{rule.check.replace('-', '_')}")
    for view in views:
        if not view.get(rule.about).is_known:
            with pytest.raises(MissingFactError):
                check.judge(view)
