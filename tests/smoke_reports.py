"""A smoke report from what children said, held to its contract."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema

from flashdoctor import pipeline
from flashdoctor.data.tables import load_tables
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.smoke import Case, SmokeReport
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.smoke.facts import smoke_facts
from flashdoctor.smoke.report import compose, judge_cases
from flashdoctor.smoke.run import SmokeRun

SCHEMA = Path(__file__).resolve().parent / "data" / "smoke_v1.schema.json"
TABLES = load_tables()


def finish(
    facts: Snapshot,
    cases: Any,
    run: SmokeRun,
    required: Any = (),
    left_out: Sequence[Case] = (),
) -> SmokeReport:
    """Judge a run; what becomes of each case is as the schema and the contract say."""
    done = judge_cases(cases, run, TABLES)
    told = snapshots.merge(snapshots.of(smoke_facts(done, run)), facts)
    report = compose(done, run, pipeline.judge_snapshot(told, required=required), left_out)
    body = report.to_json()
    jsonschema.validate(body, json.loads(SCHEMA.read_text(encoding="utf-8")))
    for case in body["cases"]:
        family_hit = case["family"] in case["accepted_families"]
        assert case["proven"] == (case["status"] == "proven")
        assert not case["proven"] or family_hit
    return report
