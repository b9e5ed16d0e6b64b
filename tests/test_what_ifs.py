"""Whole verdicts over assumed stacks: data/what_ifs.toml through the real matrices and rules."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from flashdoctor import pipeline

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = Path(__file__).parent / "data" / "what_ifs.toml"
CASES: list[dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))["case"]


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
