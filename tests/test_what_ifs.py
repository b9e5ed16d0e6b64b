"""Whole verdicts over assumed stacks: data/what_ifs.toml through the real matrices and rules."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from flashdoctor import pipeline

FILE = Path(__file__).parent / "data" / "what_ifs.toml"
TOML = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
CASES: list[dict[str, Any]] = TOML.loads(FILE.read_text(encoding="utf-8"))["case"]


def name(case: dict[str, Any]) -> str:
    return " ".join([*case["assume"], *(f"require:{part}" for part in case.get("require", []))])


@pytest.mark.parametrize("case", CASES, ids=name)
def test_a_stack_gets_its_verdict(case: dict[str, Any]) -> None:
    report = pipeline.judge_snapshot(
        pipeline.assume(case["assume"]), required=case.get("require", [])
    )
    errors = [
        (item.id, item.cause, item.detail) for item in report.findings if item.severity == "error"
    ]
    assert report.exit_code == case["exit"], (case["why"], errors, report.missing)
    if "cause" in case:
        assert errors[0][1] == case["cause"], (case["why"], errors)
    assert not [item for item in report.findings if item.outcome == "crash"]
