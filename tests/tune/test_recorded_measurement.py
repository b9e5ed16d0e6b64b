"""`tune --measure` on an H200: what was measured, and the account beside it as it is now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.engine.assume import read_assumptions
from flashdoctor.engine.derive import derive
from flashdoctor.model_folder import read_model
from flashdoctor.tune.ask import read_request
from flashdoctor.tune.plan import Planner
from flashdoctor.tune.trials import CHOSEN, compare, trials_of

DATA = Path(__file__).resolve().parent.parent / "data"
RECORD: dict[str, Any] = json.loads(
    (DATA / "launch" / "h200_measured.json").read_text(encoding="utf-8")
)
TRIALS = {trial["name"]: trial for trial in RECORD["report"]["measured"]["trials"]}
H200_GIB = "gpu_memory_gib=139.8"


def test_the_report_has_the_shape_of_the_contract() -> None:
    schema = json.loads((DATA / "tune_v1.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(RECORD["report"], schema)


def test_the_choice_beat_the_defaults() -> None:
    base = TRIALS["defaults"]["output_tokens_per_s"]
    assert RECORD["report"]["measured"]["best"] == "chosen"
    assert TRIALS["chosen"]["output_tokens_per_s"] / base >= 1.08
    assert RECORD["fp8"]["output_tokens_per_s"] / base >= 1.15


@pytest.fixture(scope="module")
def planner() -> Planner:
    tables = load_tables()
    facts = derive(read_assumptions(["gpu=NVIDIA H200", H200_GIB]), tables)
    model = read_model(str(DATA / "models" / "llama3.1-8b"))
    return Planner(read_request(model, facts, "0.25.1", "throughput", tables), tables)


def test_the_same_launches_would_be_tried_today(planner: Planner) -> None:
    planned = {
        one.trial.name: dict(one.trial.settings) for one in trials_of(planner, planner.decide())
    }
    for name, trial in TRIALS.items():
        assert planned[name] == trial["settings"]


def test_the_account_meets_what_the_engine_said(planner: Planner) -> None:
    (account,) = [
        one.account for one in trials_of(planner, planner.decide()) if one.trial.name == CHOSEN
    ]
    bounds = {"weights": 0.01, "KV cache": 0.03, "KV tokens": 0.03, "CUDA graphs": 0.05}
    compared = {item.name: item for item in compare(account, TRIALS["chosen"]["engine"])}
    assert set(compared) == set(bounds)
    for name, bound in bounds.items():
        assert abs(compared[name].error) <= bound, compared[name]
