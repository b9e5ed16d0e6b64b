"""What the agent said on an H200 with torch 2.11, flash-attn 2.8.3 and flash-attn-4, read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.smoke.classify import attention_family, reasons

FILE = Path(__file__).resolve().parents[1] / "data/smoke/h200_events.jsonl"
EVENTS: list[dict[str, Any]] = [
    json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()
]
RESULTS = {event["name"]: event for event in EVENTS if event["event"] == "result"}


def family(name: str) -> str:
    return attention_family(load_tables(), RESULTS[name]["kernels"])[0]


def test_every_case_was_announced_before_its_result() -> None:
    kinds = [event["event"] for event in EVENTS]
    assert kinds == ["start", *["begin", "result"] * len(RESULTS), "end"]
    names = [event["name"] for event in EVENTS[1:-1]]
    assert names[::2] == names[1::2]
    assert (EVENTS[0]["device"], EVENTS[0]["capability"]) == ("NVIDIA H200", "9.0")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sdpa-default-d128", "cudnn"),
        ("sdpa-flash-d128", "torch-flash"),
        ("sdpa-mem-efficient-backward", "mem-efficient"),
        ("sdpa-math-d128", "math"),
        ("sdpa-fa4", "fa4"),
        ("flash-attn-d128", "fa2"),
        ("flash-attn-kvcache", "fa2"),
        ("fa4-backward", "fa4"),
        ("flex-d128", "flex"),
    ],
)
def test_kernels_name_their_family(name: str, expected: str) -> None:
    assert family(name) == expected


def test_what_ran_was_right_and_measured() -> None:
    ran = [result for result in RESULTS.values() if result["status"] == "ran"]
    assert len(ran) > 30
    for result in ran:
        assert result["profiler"] == "ok"
        assert 0 < result["relative_error"] < 5e-3
        assert result["ms"] > 0
        assert result["peak_mib"] > 0
    math, flash = RESULTS["sdpa-math-d128"], RESULTS["flash-attn-d128"]
    assert math["ms"] / flash["ms"] > 20
    assert math["peak_mib"] / flash["peak_mib"] > 20


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("sdpa-flash-mask", "sdpa-attn-mask-blocks-flash"),
        ("sdpa-flash-fp32", "dtype-unsupported-fp32"),
        ("sdpa-flash-d288", "head-dim-unsupported"),
        ("flash-attn-fp32", "dtype-unsupported-fp32"),
        ("flash-attn-d288", "head-dim-unsupported"),
    ],
)
def test_a_refusal_has_its_cause(name: str, cause: str) -> None:
    result = RESULTS[name]
    assert (result["status"], result["kernels"]) == ("refused", [])
    assert reasons(load_tables(), result["messages"])[0].cause == cause


@pytest.mark.parametrize("name", ["sdpa-default-mask", "sdpa-default-fp32", "sdpa-default-d288"])
def test_the_default_says_why_it_is_not_flash(name: str) -> None:
    result = RESULTS[name]
    assert result["can_use"]["flash"] is False
    assert result["refusals"]["flash"]
    assert family(name) != "torch-flash"


def test_a_package_that_is_not_there_is_missing() -> None:
    assert RESULTS["fa3-d128"]["status"] == "missing"
    assert "flash_attn_interface" in RESULTS["fa3-d128"]["messages"][0]
