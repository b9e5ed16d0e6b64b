from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.runner import Results
from flashdoctor.engine.verdict import FailOn, decide, missing_facts
from flashdoctor.model import snapshot
from flashdoctor.model.facts import Fact, known, unknown
from flashdoctor.model.finding import Finding, Skipped
from flashdoctor.model.rule import Rule


def finding(severity: Any) -> Finding:
    return Finding(
        id="FD201",
        name="x",
        cause="x",
        outcome="fail",
        severity=severity,
        title="x",
        layer="torch",
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


def ask(facts: list[Fact], *rules: Rule, required: tuple[str, ...] = (), **lacking: str) -> Any:
    """Ask for the missing facts where `rules` hold, but those named in `lacking` were skipped."""
    skipped = tuple(Skipped(id=number, needs=(path,)) for number, path in lacking.items())
    held = tuple(rule for rule in rules if rule.id not in lacking)
    results = Results(findings=(), skipped=skipped, passed=held)
    by_id = {rule.id: rule for rule in rules}
    return missing_facts(snapshot.of(facts), results, by_id, frozenset(required))  # type: ignore[arg-type]


GPU = known("gpu.compute_capability", "9.0", "x")
TORCH = known("torch.version", "2.8.0", "x")


def test_nothing_judged_is_nothing_established() -> None:
    assert ask([]) == ("gpu.compute_capability", "torch.version")


def test_a_deciding_rule_that_holds_is_enough_where_nothing_is_required(make_rule: Any) -> None:
    assert ask([TORCH], make_rule(decides=("sdpa",))) == ()
    assert ask([TORCH], make_rule(decides=("vllm",))) == ()
    assert ask([TORCH], make_rule()) != ()


def test_nothing_is_established_without_torch(make_rule: Any) -> None:
    assert ask([GPU], make_rule(decides=("flash-attn",))) == ("torch.version",)


def test_outside_the_tables_only_a_kernel_that_ran_counts(make_rule: Any) -> None:
    rules = {"FD201": make_rule(decides=("sdpa",), outside=True)}
    results = Results(findings=(finding("warning"),), skipped=(), passed=())
    for build, ran, missing in (
        ("cuda", True, ()),
        ("cuda", False, ("live.kernel_ran",)),
        ("rocm", True, ("live.kernel_ran",)),
    ):
        facts = [TORCH, known("torch.build", build, "x"), known("live.kernel_ran", ran, "x")]
        assert missing_facts(snapshot.of(facts), results, rules, frozenset()) == missing


def test_a_rule_that_failed_decides_as_well(make_rule: Any) -> None:
    rules = {"FD201": make_rule(decides=("vllm",))}
    results = Results(findings=(finding("warning"),), skipped=(), passed=())
    assert missing_facts(snapshot.of([TORCH]), results, rules, frozenset({"vllm"})) == ()


def test_each_required_component_must_be_decided(make_rule: Any) -> None:
    held = make_rule(decides=("sdpa",))
    assert ask([GPU, TORCH], held, required=("sdpa", "vllm")) == ("vllm.version",)


def test_what_the_deciding_rule_lacked_is_named(make_rule: Any) -> None:
    rule = make_rule(id="FD201", decides=("sdpa",))
    assert ask([GPU, TORCH], rule, FD201="torch.arch_list") == ("torch.arch_list",)


def test_a_core_fact_that_was_looked_for_in_vain_undoes_a_pass(make_rule: Any) -> None:
    looked = unknown("gpu.compute_capability", "NVML hangs", "NVML")
    assert ask([looked], make_rule(decides=("sdpa",))) == ("gpu.compute_capability",)
