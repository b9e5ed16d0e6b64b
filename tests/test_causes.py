"""Pastes of every kind of fault through `pipeline.diagnose`: the cause that stands first."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from flashdoctor import pipeline
from flashdoctor.data.signatures import load_causes
from flashdoctor.data.tables import load_tables
from flashdoctor.logs.lines import read_lines

TOML = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
FILE = Path(__file__).parent / "data" / "causes.toml"
CASES: list[dict[str, Any]] = TOML.loads(FILE.read_text(encoding="utf-8"))["case"]


def found(text: str) -> list[tuple[str, str]]:
    report = pipeline.diagnose(read_lines([text.encode()]))
    return [(finding.cause, finding.severity) for finding in report.findings]


@pytest.mark.parametrize("case", CASES, ids=[f"{n}-{c['cause']}" for n, c in enumerate(CASES)])
def test_the_cause_of_a_paste_is_named_first(case: dict[str, Any]) -> None:
    findings = found(case["text"])
    if case["cause"].startswith("benign-"):
        assert case["cause"] in [cause for cause, _ in findings]
        assert all(severity != "error" for _, severity in findings)
    else:
        serious = [cause for cause, severity in findings if severity != "info"]
        assert serious[0] in {case["cause"], *case.get("also", ())}


def test_every_cause_has_a_paste() -> None:
    covered = {cause for case in CASES for cause in (case["cause"], *case.get("also", ()))}
    assert set(load_causes(load_tables())) - covered == set()
