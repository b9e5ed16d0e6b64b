"""Every rule of every family against its own examples."""

from __future__ import annotations

import pytest

from flashdoctor.data.rules import load_rules
from flashdoctor.data.tables import load_tables
from flashdoctor.engine import runner
from flashdoctor.engine.derive import derive
from flashdoctor.engine.view import View
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import known_or_absent
from flashdoctor.model.finding import Skipped
from flashdoctor.model.rule import Example, Rule

CASES = [
    pytest.param(rule, example, id=f"{rule.id}-{number}")
    for rule in load_rules(load_tables())
    for number, example in enumerate(rule.examples)
]


def judge(rule: Rule, example: Example) -> str:
    stated = snapshots.of(
        known_or_absent(path, value, "example") for path, value in example.facts.items()
    )
    tables = load_tables()
    view = View(derive(stated, tables), tables, frozenset(example.require))
    result = runner.judge(rule, view)
    if isinstance(result, Skipped):
        return "skip"
    if result is None:
        return "pass"
    return f"crash: {result.detail}" if result.outcome == "crash" else "fail"


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_a_rule_says_of_its_example_what_the_row_claims(rule: Rule, example: Example) -> None:
    assert judge(rule, example) == example.expect, (rule.name, dict(example.facts))
