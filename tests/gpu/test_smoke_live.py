"""The live proof: what ran is named, what cannot run says why, a fallback fails the gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

Report = Mapping[str, Any]
Run = Callable[..., tuple[int, Report]]

MOST_SECONDS = 4.0
CAUSES = {
    "mask": "sdpa-attn-mask-blocks-flash",
    "fp32": "dtype-unsupported-fp32",
    "d288": "head-dim-unsupported",
}


def by_name(report: Report) -> dict[str, Mapping[str, Any]]:
    return {case["name"]: case for case in report["cases"]}


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
    assert whole["seconds"] - whole["torch_start_seconds"] < MOST_SECONDS


@pytest.mark.gpu
def test_a_hopper_runs_cudnn_by_default(run: Run, gpu_major: int) -> None:
    if gpu_major != 9:
        pytest.skip("not a Hopper")
    _, report = run("smoke", "--case", "sdpa-default-d128")
    assert [case["family"] for case in report["cases"]] == ["cudnn"]


@pytest.mark.gpu
def test_flash_attn_that_is_hidden_fails_the_gate(run: Run, tmp_path: Path) -> None:
    (tmp_path / "flash_attn.py").write_text("raise ImportError('hidden')\n", encoding="utf-8")
    code, report = run("smoke", "--case", "transformers-fa2", "--require", "flash-attn",
                       PYTHONPATH=str(tmp_path))  # fmt: skip
    assert code != 0
    assert report["verdict"] != "pass"


@pytest.mark.gpu
def test_flash_with_a_mask_fails_the_gate(run: Run) -> None:
    code, _ = run("smoke", "--case", "sdpa-flash-mask", "--require", "flash-attn")
    assert code != 0


@pytest.mark.gpu
def test_what_is_required_is_proven_or_the_gate_is_shut(run: Run) -> None:
    code, report = run("check", "--require", "flash-attn")
    proven = report["facts"].get("smoke.proven", {}).get("value") or []
    assert (code == 0) == ("fa2" in proven)
