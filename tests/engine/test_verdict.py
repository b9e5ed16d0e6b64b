from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.verdict import FailOn, decide, missing_facts
from flashdoctor.model import snapshot
from flashdoctor.model.facts import known, unknown
from flashdoctor.model.finding import Finding


def finding(severity: str) -> Finding:
    return Finding(
        id="FD201",
        name="x",
        cause="x",
        outcome="fail",
        severity=severity,
        title="x",
        layer="torch",  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("severities", "missing", "fail_on", "expected"),
    [
        ([], (), "error", ("pass", 0)),
        (["info"], (), "error", ("pass", 0)),
        (["warning"], (), "error", ("warn", 0)),
        (["warning"], (), "warning", ("warn", 1)),
        (["error"], (), "error", ("fail", 1)),
        (["error"], ("torch.version",), "error", ("fail", 1)),
        (["error"], (), "never", ("fail", 0)),
        ([], ("torch.version",), "error", ("undetermined", 3)),
        (["warning"], ("torch.version",), "error", ("undetermined", 3)),
        (["warning"], ("torch.version",), "warning", ("undetermined", 1)),
        ([], ("torch.version",), "never", ("undetermined", 3)),
    ],
)
def test_verdict_and_exit_code(
    severities: list[str], missing: tuple[str, ...], fail_on: FailOn, expected: tuple[str, int]
) -> None:
    assert decide([finding(severity) for severity in severities], missing, fail_on) == expected


def test_nothing_judged_is_nothing_established() -> None:
    assert missing_facts(snapshot.of([]), [], frozenset()) != ()


def test_a_deciding_rule_that_holds_is_enough_where_nothing_is_required(make_rule: Any) -> None:
    assert missing_facts(snapshot.of([]), [make_rule(decides=("sdpa",))], frozenset()) == ()
    assert missing_facts(snapshot.of([]), [make_rule()], frozenset()) != ()


def test_each_required_component_must_be_decided(make_rule: Any) -> None:
    stated = snapshot.of([known("gpu.compute_capability", "9.0", "x")])
    held = [make_rule(decides=("sdpa",))]
    needed = frozenset({"sdpa", "vllm"})
    assert missing_facts(stated, held, needed) == ("vllm.version",)  # type: ignore[arg-type]


def test_a_core_fact_that_was_looked_for_in_vain_undoes_a_pass(make_rule: Any) -> None:
    looked = snapshot.of([unknown("gpu.compute_capability", "NVML hangs", "NVML")])
    held = [make_rule(decides=("sdpa",))]
    assert missing_facts(looked, held, frozenset()) == ("gpu.compute_capability",)
