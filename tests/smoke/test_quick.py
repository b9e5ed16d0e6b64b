"""The quick look inside a check: which cases, which facts, and what the check says then."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from flashdoctor import pipeline
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import known
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.probes import machine
from flashdoctor.render.style import Style
from flashdoctor.render.terminal import render
from flashdoctor.smoke.quick import run_quick
from flashdoctor.smoke.skipped import PATHS, not_run

ENVIRON = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
SOUND = ("gpu=NVIDIA H200", "driver=580.95.05", "torch=2.11.0+cu130", "torch.cudnn=9.19.0.56",
         "flash_attn=2.8.3", "python=3.11.9", "platform=linux_x86_64", "glibc=2.35",
         "flash_attn_3.version=absent", "flash_attn_4.version=absent", "vllm=absent",
         "transformers=absent")  # fmt: skip
START = {"torch": "2.11.0+cu130", "device": "NVIDIA H200", "capability": "9.0"}


@pytest.fixture
def look(
    python: Path, play: Callable[..., None], stack: Any, kernels: Mapping[str, str]
) -> Callable[..., Snapshot]:
    """Return a function that takes a quick look at a sound H200, some cases changed."""
    hits = {
        "sdpa-default-d128": ([kernels["cudnn"]], 0.5),
        "sdpa-flash-d128": ([kernels["torch-flash"]], 0.9),
        "sdpa-math-d128": ([kernels["math gemm"], kernels["math softmax"]], 26.0),
        "flash-attn-d128": ([kernels["fa2"]], 0.8),
    }

    def run(*required: Any, start: Mapping[str, Any] = START, **changed: Any) -> Snapshot:
        parts: dict[str, Any] = {
            name: {"result": {"kernels": names, "ms": ms, "profiler": "ok"}}
            for name, (names, ms) in hits.items()
        }
        for name, given in changed.items():
            parts[name.replace("_", "-")] = given
        play(parts, start)
        facts = stack(*SOUND)
        found = snapshots.of(run_quick(python, facts, required, ENVIRON))
        assert set(found.facts) == set(PATHS)
        return snapshots.merge(found, facts)

    return run


def check(facts: Snapshot, *required: Any) -> tuple[Any, str]:
    report = pipeline.judge_snapshot(pipeline._redacted(facts), required=required)
    return report, render(report, Style(width=100))


def test_a_proof_is_named_in_the_pass(look: Any) -> None:
    report, text = check(look(), "flash-attn", "sdpa")
    assert (report.verdict, report.exit_code) == ("pass", 0)
    assert "FA2 proven: flash::flash_fwd_kernel, 0.80 ms, 32 x math; besides cuDNN's kernel" in text
    json.dumps(report.to_json(), allow_nan=False)


def test_what_is_not_installed_is_not_proven(look: Any) -> None:
    report, _ = check(look(), "fa3")
    assert report.exit_code == 1
    assert {"FD331", "FD414"} <= {item.id for item in report.findings}


def test_a_refusal_is_an_error_where_it_is_required(look: Any) -> None:
    told = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
    refused = {"result": {"status": "refused", "kernels": [], "messages": [told]}}
    facts = look(flash_attn_d128=refused)
    assert check(facts)[0].exit_code == 0
    report, _ = check(facts, "flash-attn")
    assert (report.exit_code, report.findings[0].id) == (1, "FD413")
    assert report.findings[0].cause in {"flash-attn-needs-ampere", "flash-attn-arch-not-built"}


def test_a_wrong_output_fails_any_check(look: Any) -> None:
    report, _ = check(look(sdpa_flash_d128={"result": {"status": "wrong"}}))
    assert (report.exit_code, report.findings[0].id) == (1, "FD410")


def test_a_death_fails_any_check(look: Any) -> None:
    report, _ = check(look(flash_attn_d128={"die": True}))
    assert (report.exit_code, report.findings[0].id) == (1, "FD411")


def test_without_a_profiler_what_is_required_is_not_established(look: Any) -> None:
    blind = {"result": {"kernels": [], "profiler": "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"}}
    names = ("sdpa_default_d128", "sdpa_flash_d128", "sdpa_math_d128", "flash_attn_d128")
    facts = look(**dict.fromkeys(names, blind))
    report, text = check(facts, "flash-attn")
    assert (report.verdict, report.exit_code) == ("undetermined", 3)
    assert report.missing == ("smoke.proven",)
    assert "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" in text
    report, text = check(facts)
    assert report.exit_code == 0
    assert "nothing is proven" in text


def test_a_torch_that_does_not_start_again_proves_nothing(look: Any) -> None:
    facts = look(start={"die": True})
    assert facts.value("smoke.status") == "error"
    assert check(facts, "sdpa")[0].exit_code == 3
    assert check(facts)[0].exit_code == 0


def test_assumed_facts_fit_and_prove_nothing(stack: Any) -> None:
    report, text = check(stack(*SOUND), "flash-attn")
    assert (report.verdict, report.exit_code) == ("pass", 0)
    assert "nothing was run or proven" in text
    left_out = snapshots.merge(snapshots.of(not_run("--smoke off")), stack(*SOUND))
    assert check(left_out, "flash-attn")[0].verdict == "pass"


@pytest.mark.parametrize(("ran", "looked"), [(True, True), (False, False), (None, False)])
def test_it_runs_where_a_kernel_of_torch_ran(
    monkeypatch: pytest.MonkeyPatch, ran: bool | None, looked: bool
) -> None:
    calls: list[Any] = []

    def note(*given: Any) -> tuple[()]:
        calls.append(given)
        return ()

    monkeypatch.setattr("flashdoctor.smoke.quick.run_quick", note)
    facts = [] if ran is None else [known("live.kernel_ran", ran, "x")]
    found = machine._read_smoke(snapshots.of(facts), Path("python"), {}, ("sdpa",))
    assert bool(calls) is looked
    assert found.value("smoke.status") == (None if looked else "not-run")
