"""A run on an H200 in which every family was proven, against the names table as it is now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.smoke.classify import attention_family

DATA = Path(__file__).resolve().parent.parent / "data"
RUN: dict[str, Any] = json.loads(
    (DATA / "smoke" / "h200_nine_families.json").read_text(encoding="utf-8")
)


def test_the_run_has_the_shape_of_the_contract() -> None:
    schema = json.loads((DATA / "smoke_v1.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(RUN, schema)


def test_nine_families_were_proven() -> None:
    proven = {case["family"] for case in RUN["cases"] if case["proven"]}
    assert proven >= {
        "cudnn", "torch-flash", "mem-efficient", "math", "fa2", "fa3", "fa4", "flex", "triton",
    }  # fmt: skip


@pytest.mark.parametrize("case", RUN["cases"], ids=lambda case: str(case["name"]))
def test_the_names_still_say_what_ran(case: dict[str, Any]) -> None:
    family, kernels = attention_family(load_tables(), case["kernels"])
    assert family == case["family"]
    assert case["kernel"] in kernels or family == "math"
