from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any, cast

import pytest

from flashdoctor.data.tables import Tables
from flashdoctor.engine import runner
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model import snapshot
from flashdoctor.model.facts import absent, known, unknown
from flashdoctor.model.finding import Finding, Skipped
from flashdoctor.model.rule import Fix

NO_TABLES = cast("Tables", None)


def look(*facts: Any, required: tuple[str, ...] = ()) -> View:
    return View(snapshot.of(facts), NO_TABLES, frozenset(required))


@pytest.fixture
def check() -> Iterator[Any]:
    """Install a check module by name for one test."""
    names: list[str] = []

    def install(function: Any) -> str:
        name = f"{runner.CHECKS}.made_for_a_test"
        module = types.ModuleType(name)
        module.judge = function  # type: ignore[attr-defined]
        sys.modules[name] = module
        names.append(name)
        return "made-for-a-test"

    yield install
    for name in names:
        del sys.modules[name]


def test_a_rule_fails_where_its_condition_holds(make_rule: Any) -> None:
    result = runner.judge(make_rule(), look(known("torch.version", "1.13.1", "version.py")))
    assert isinstance(result, Finding)
    assert (result.outcome, result.severity) == ("fail", "error")
    (evidence,) = result.evidence
    assert evidence.to_json() == {"fact": "torch.version", "value": "1.13.1", "where": "version.py"}
    assert result.sources == ("a document (checked 2026-11-30)",)


def test_a_rule_passes_where_it_does_not(make_rule: Any) -> None:
    assert runner.judge(make_rule(), look(known("torch.version", "2.6.0", "x"))) is None
    assert runner.judge(make_rule(), look(absent("torch.version", "x"))) is None


def test_a_rule_without_its_facts_is_skipped_and_says_why(make_rule: Any) -> None:
    result = runner.judge(make_rule(), look(unknown("torch.version", "python3 hangs", "agent")))
    assert isinstance(result, Skipped)
    assert (result.needs, result.reason) == (("torch.version",), "python3 hangs")


def test_a_crashing_rule_is_a_finding_and_stops_nothing(make_rule: Any, check: Any) -> None:
    def crash(_view: View) -> Judgement:
        raise ZeroDivisionError("division by zero")

    rules = [
        make_rule(id="FD202", name="broken", when=None, check=check(crash)),
        make_rule(id="FD203", name="whole"),
    ]
    results = runner.run(rules, look(known("torch.version", "1.0", "x")))
    assert [(item.id, item.outcome) for item in results.findings] == [
        ("FD202", "crash"),
        ("FD203", "fail"),
    ]
    assert results.findings[0].detail == "ZeroDivisionError: division by zero"


def test_a_check_that_needs_an_unknown_fact_is_skipped(make_rule: Any, check: Any) -> None:
    def judge(view: View) -> Judgement:
        return passed() if view.need("driver.version") else failed()

    result = runner.judge(make_rule(when=None, check=check(judge)), look())
    assert isinstance(result, Skipped)
    assert result.needs == ("driver.version",)


def test_a_check_may_name_values_for_the_fix(make_rule: Any, check: Any) -> None:
    def judge(_view: View) -> Judgement:
        return failed("torch.version", detail="It is old.", values={"advice.torch": "2.8.0"})

    rule = make_rule(
        when=None,
        check=check(judge),
        fix=Fix(
            text="Take another torch.",
            commands=("pip install torch=={advice.torch}", "pip install vllm=={vllm.version}"),
            safety="disruptive",
        ),
    )
    result = runner.judge(rule, look(known("torch.version", "1.0+cu117", "x")))
    assert isinstance(result, Finding)
    assert result.fix.commands == ("pip install torch==2.8.0",)
    assert result.detail == "It is old."


@pytest.mark.parametrize(("required", "severity"), [((), "warning"), (("flash-attn",), "error")])
def test_what_a_rule_breaks_decides_its_severity(
    make_rule: Any, required: tuple[str, ...], severity: str
) -> None:
    rule = make_rule(component="flash-attn", unrequired="warning")
    result = runner.judge(rule, look(known("torch.version", "1.0", "x"), required=required))
    assert isinstance(result, Finding)
    assert result.severity == severity


def test_devices_are_the_visible_ones() -> None:
    cards = [
        {"index": 0, "name": "NVIDIA A100", "compute_capability": "8.0", "visible": False},
        {"index": 1, "name": "NVIDIA H100", "compute_capability": "9.0", "visible": True},
    ]
    view = look(known("gpu.devices", cards, "NVML"))
    assert [device["index"] for device in view.devices()] == [1]


def test_a_stated_gpu_is_device_0() -> None:
    view = look(known("gpu.name", "L4", "x"), known("gpu.compute_capability", "8.9", "x"))
    assert view.devices() == [{"index": 0, "name": "L4", "compute_capability": "8.9"}]
    assert look(absent("gpu.compute_capability", "NVML")).devices() == []
