"""What the agent said on an H200, judged by the names and causes as they are now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.model.smoke import Case
from flashdoctor.smoke.plan import plan_cases
from flashdoctor.smoke.run import SmokeRun
from tests.smoke_reports import finish

RECORDED = Path(__file__).resolve().parent.parent / "data" / "smoke" / "h200_events.jsonl"
H200 = ("gpu=NVIDIA H200", "driver=580.159.04", "torch=2.11.0+cu130", "torch.cudnn=9.19.0.56",
        "flash_attn=2.8.3", "flash_attn_3.version=absent", "flash_attn_4.version=4.0.0",
        "vllm=absent", "transformers=5.17.0", "python=3.12.3", "platform=linux_x86_64",
        "glibc=2.39")  # fmt: skip

CAUSES = {
    "mask": "sdpa-attn-mask-blocks-flash",
    "fp32": "dtype-unsupported-fp32",
    "d288": "head-dim-unsupported",
}


def recorded(cases: Any) -> tuple[list[Case], SmokeRun]:
    """Return what an H200 said of these cases, and the cases that it ran."""
    events = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    results = {event["name"]: event for event in events if event["event"] == "result"}
    start = next(event for event in events if event["event"] == "start")
    ran = [case for case in cases if case.name in results]
    return ran, SmokeRun(results=tuple(results[case.name] for case in ran), start=start)


def test_an_h200_proves_each_family(stack: Any) -> None:
    facts = stack(*H200)
    cases, run = recorded(plan_cases(facts))
    report = finish(facts, cases, run, ["flash-attn", "sdpa", "fa4"])
    assert (report.verdict, report.exit_code) == ("pass", 0), report.findings
    assert {"fa2", "torch-flash", "fa4", "cudnn", "mem-efficient", "math", "flex"} <= set(
        report.proven
    )
    done = {item.case.name: item for item in report.cases}
    assert done["sdpa-default-d128"].family == "cudnn"
    for item in report.cases:
        assert item.as_expected or item.status == "missing", item.case.name
    for name, cause in CAUSES.items():
        for item in (done[f"sdpa-default-{name}"], done[f"sdpa-flash-{name}"]):
            assert not item.proven
            assert {reason.cause for reason in item.reasons} == {cause}
    assert done["flash-attn-d128"].gain_over_math == pytest.approx(32, abs=2)


def test_an_h200_lacks_what_is_not_installed(stack: Any) -> None:
    facts = stack(*H200)
    cases, run = recorded(plan_cases(facts))
    report = finish(facts, cases, run, ["fa3"])
    assert report.exit_code == 1
    assert {item.cause for item in report.findings if item.severity == "error"} >= {
        "flash-attn-missing"
    }
