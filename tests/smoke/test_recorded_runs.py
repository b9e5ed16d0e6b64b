"""Runs on an H200, against the contract and against the names table as it is now.

One in which every family was proven, and one of all cases but those of transformers and vLLM.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.smoke.classify import attention_family

DATA = Path(__file__).resolve().parent.parent / "data"
MOST_SECONDS = 4.0


def read(name: str) -> dict[str, Any]:
    run: dict[str, Any] = json.loads((DATA / "smoke" / name).read_text(encoding="utf-8"))
    return run


FAMILIES = read("h200_nine_families.json")
WHOLE = read("h200_without_frameworks.json")


@pytest.mark.parametrize("run", [FAMILIES, WHOLE], ids=["families", "whole"])
def test_the_run_has_the_shape_of_the_contract(run: dict[str, Any]) -> None:
    schema = json.loads((DATA / "smoke_v1.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(run, schema)


def test_nine_families_were_proven() -> None:
    proven = {case["family"] for case in FAMILIES["cases"] if case["proven"]}
    assert proven >= {
        "cudnn", "torch-flash", "mem-efficient", "math", "fa2", "fa3", "fa4", "flex", "triton",
    }  # fmt: skip


@pytest.mark.parametrize(
    "case", [*FAMILIES["cases"], *WHOLE["cases"]], ids=lambda case: str(case["name"])
)
def test_the_names_still_say_what_ran(case: dict[str, Any]) -> None:
    if not case["kernels"]:
        assert case["status"] == ("missing" if case["api"] == "xformers" else "refused")
        return
    family, kernels = attention_family(load_tables(), case["kernels"])
    assert family == case["family"]
    assert case["kernel"] in kernels or family == "math"


def test_the_whole_run_took_little_more_than_torchs_own_start() -> None:
    assert len(WHOLE["cases"]) > 30
    assert all(case["as_expected"] for case in WHOLE["cases"])
    assert WHOLE["seconds"] - WHOLE["torch_start_seconds"] < MOST_SECONDS
