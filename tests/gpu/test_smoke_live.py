"""The live proof: what ran is named, what cannot run says why, a fallback fails the gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.smoke.classify import attention_family

Report = Mapping[str, Any]
Run = Callable[..., Report]

MOST_SECONDS = 4.0
MOST_QUICK_SECONDS = 2.0
CAUSES = {
    "mask": "sdpa-attn-mask-blocks-flash",
    "fp32": "dtype-unsupported-fp32",
    "d288": "head-dim-unsupported",
}
PROOFS = {
    "fa2": ("flash-attn-d128", "transformers-fa2"),
    "torch-flash": ("sdpa-flash-d128",),
    "fa3": ("fa3-d128", "vllm-fa3-varlen", "vllm"),
    "fa4": ("fa4-d128",),
    "cudnn": ("sdpa-default-d128", "sdpa-cudnn-d128"),
    "mem-efficient": ("sdpa-mem-efficient-d128",),
    "math": ("sdpa-math-d128",),
    "triton": ("vllm-triton",),
    "flex": ("flex-d128",),
}
"""Each family by the cases of which every one that can run must prove it, and one must run."""


def by_name(report: Report) -> dict[str, Mapping[str, Any]]:
    return {case["name"]: case for case in report["cases"]}


def could_run(case: Mapping[str, Any]) -> bool:
    """Whether its package is there, and this GPU should take it."""
    return case["status"] != "missing" and not case["expected_refusal"]


@pytest.mark.parametrize("family", list(PROOFS))
def test_each_family_is_proven_by_the_name_of_its_kernel(families: Report, family: str) -> None:
    cases = [case for name, case in by_name(families).items() if name in PROOFS[family]]
    able = [case for case in cases if could_run(case)]
    if not able:
        pytest.skip("; ".join(f"{c['name']}: {c['messages'] or c['status']}" for c in cases))
    for case in able:
        said = (case["name"], case["family"], case["proven"], case["messages"])
        assert said[1:3] == (family, True), said
        assert case["kernel"] in case["kernels"]
        assert attention_family(load_tables(), case["kernels"])[0] == family


def test_no_case_of_any_family_ends_as_it_should_not(families: Report) -> None:
    wrong = [(c["name"], c["status"], c["messages"]) for c in families["cases"]
             if could_run(c) and not c["as_expected"]]  # fmt: skip
    assert wrong == []


def test_each_family_has_its_time_beside_the_others(families: Report) -> None:
    cases = by_name(families)
    math_ms = cases["sdpa-math-d128"]["ms"]
    for family in ("torch-flash", "fa2", "fa3", "fa4", "mem-efficient", "flex"):
        case = cases.get(PROOFS[family][0], {})
        if case.get("ms"):
            assert case["gain_over_math"] == pytest.approx(math_ms / case["ms"], rel=0.02)
            assert case["gain_over_math"] > 5
            assert case["gain_over_default"] > 0


def test_every_case_is_answered_as_it_should_be(whole: Report) -> None:
    wrong = [c["name"] for c in whole["cases"] if not c["as_expected"] and c["status"] != "missing"]
    assert wrong == []
    assert whole["verdict"] == "pass"


def test_each_backend_alone_is_proven_by_name(whole: Report) -> None:
    cases = by_name(whole)
    for backend, family in (("mem-efficient", "mem-efficient"), ("math", "math")):
        case = cases[f"sdpa-{backend}-d128"]
        assert (case["family"], case["proven"]) == (family, True)
        assert case["kernels"]
    flash = cases["sdpa-flash-d128"]
    assert flash["expected_refusal"] or flash["family"] == "torch-flash"


@pytest.mark.parametrize("what", list(CAUSES))
def test_what_flash_does_not_take_ends_in_its_cause_and_not_in_a_pass(
    whole: Report, what: str
) -> None:
    for name in (f"sdpa-default-{what}", f"sdpa-flash-{what}"):
        case = by_name(whole)[name]
        assert not case["proven"], name
        assert case["family"] != "torch-flash", name
        assert CAUSES[what] in [reason["cause"] for reason in case["reasons"]], name


def test_outputs_are_right(whole: Report) -> None:
    ran = [case for case in whole["cases"] if case["status"] in {"proven", "other"}]
    assert ran
    assert all(case["relative_error"] is not None for case in ran)


def test_it_takes_little_more_than_torchs_own_start(whole: Report) -> None:
    assert 0 < whole["torch_start_seconds"] < whole["seconds"]
    assert whole["seconds"] - whole["torch_start_seconds"] < MOST_SECONDS


def test_a_hopper_runs_cudnn_by_default(whole: Report) -> None:
    if whole["capability"] != "9.0":
        pytest.skip("not a Hopper")
    case = by_name(whole)["sdpa-default-d128"]
    assert (case["family"], case["proven"]) == ("cudnn", True)


def failed(answer: Report) -> set[str]:
    return {item["id"] for item in answer["findings"] if item["severity"] == "error"}


def is_missing(answer: Report) -> bool:
    return any(case["status"] == "missing" for case in answer["cases"])


def test_flash_attn_itself_opens_its_gate(gates: Report) -> None:
    answer = gates["flash-attn"]
    if is_missing(answer):
        pytest.skip("flash-attn is not installed")
    assert (answer["verdict"], answer["exit_code"], failed(answer)) == ("pass", 0, set())


def test_flash_attention_2_of_a_hidden_package_fails_the_gate(gates: Report) -> None:
    answer = gates["hidden flash-attn"]
    (case,) = answer["cases"]
    if case["status"] == "missing":
        pytest.skip("transformers is not installed")
    assert (answer["verdict"], answer["exit_code"]) == ("fail", 1)
    assert "FD413" in failed(answer)
    assert not case["proven"]
    assert case["reasons"]


def test_flash_with_a_mask_fails_the_gate(gates: Report) -> None:
    answer = gates["mask"]
    assert (answer["verdict"], answer["exit_code"]) == ("fail", 1)
    assert "FD413" in failed(answer)
    for case in answer["cases"]:
        assert not case["proven"]
        assert "sdpa-attn-mask-blocks-flash" in [reason["cause"] for reason in case["reasons"]]


@pytest.mark.parametrize(
    ("gate", "wanted"),
    [
        ("check flash-attn", {"fa2": "FD413"}),
        ("check hidden flash-attn", {"fa2": "FD413"}),
        ("check newer", {"fa3": "FD414", "fa4": "FD415"}),
    ],
)
def test_what_a_check_requires_is_proven_or_the_gate_is_shut(
    gates: Report, gate: str, wanted: Mapping[str, str]
) -> None:
    answer = gates[gate]
    assert answer["facts"]["smoke.status"]["value"] == "ok"
    proven = set(answer["facts"]["smoke.proven"]["value"])
    assert {family for family, rule in wanted.items() if rule not in failed(answer)} == (
        proven & set(wanted)
    )
    assert answer["exit_code"] == (1 if failed(answer) else 0)
    assert "hidden" not in gate or "fa2" not in proven


def test_vllm_in_a_check_is_proven_or_the_gate_is_shut(gates: Report) -> None:
    answer = gates["check vllm"]
    cases = answer["facts"]["smoke.cases"]["value"]
    proven = [case for case in cases if "vllm" in case["components"] and case["proven"]]
    assert ("FD417" in failed(answer)) == (not proven)
    assert answer["exit_code"] == (1 if failed(answer) else 0)


def test_a_check_without_a_run_proves_nothing(gates: Report) -> None:
    facts = gates["check without a run"]["facts"]
    assert facts["live.status"]["value"] == facts["smoke.status"]["value"] == "not-run"
    assert facts["smoke.proven"]["value"] is None


@pytest.mark.parametrize("gate", ["check flash-attn", "check hidden flash-attn"])
def test_a_check_takes_a_quick_look(gates: Report, gate: str) -> None:
    """The time of the cases: torch has started before, for the live import."""
    cases = gates[gate]["facts"]["smoke.cases"]["value"]
    assert len(cases) >= 4
    assert sum(case["seconds"] for case in cases) < MOST_QUICK_SECONDS
