from __future__ import annotations

from typing import Any

from flashdoctor.engine.ranking import rank
from flashdoctor.model.finding import Finding


def finding(number: str, layer: str, severity: str = "error", outcome: str = "fail") -> Finding:
    return Finding(
        id=number,
        name=number.lower(),
        cause=number.lower(),
        outcome=outcome,  # type: ignore[arg-type]
        severity=severity,  # type: ignore[arg-type]
        title=number,
        layer=layer,
    )


def test_the_deeper_layer_comes_first(make_rule: Any) -> None:
    found = [finding("FD302", "flash-attn"), finding("FD201", "torch"), finding("FD121", "driver")]
    rules = {item.id: make_rule(id=item.id) for item in found}
    ordered = rank(found, rules)
    assert [(item.id, item.rank) for item in ordered] == [("FD121", 1), ("FD201", 2), ("FD302", 3)]


def test_a_consequence_ranks_below_its_cause_even_if_it_lies_deeper(make_rule: Any) -> None:
    found = [finding("FD131", "driver"), finding("FD302", "flash-attn")]
    rules = {
        "FD131": make_rule(id="FD131", follows=("FD999", "FD302")),
        "FD302": make_rule(id="FD302"),
    }
    first, second = rank(found, rules)
    assert (first.id, first.follows) == ("FD302", None)
    assert (second.id, second.follows) == ("FD131", "FD302")


def test_an_error_does_not_follow_from_a_warning(make_rule: Any) -> None:
    found = [finding("FD302", "flash-attn"), finding("FD201", "torch", severity="warning")]
    rules = {
        "FD302": make_rule(id="FD302", follows=("FD201",)),
        "FD201": make_rule(id="FD201"),
    }
    first, _second = rank(found, rules)
    assert (first.id, first.follows) == ("FD302", None)


def test_a_crash_ranks_below_real_failures(make_rule: Any) -> None:
    found = [finding("FD101", "internal", outcome="crash"), finding("FD611", "framework")]
    ordered = rank(found, {item.id: make_rule(id=item.id) for item in found})
    assert [item.id for item in ordered] == ["FD611", "FD101"]
