from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.model.finding import Evidence, Finding, Report
from flashdoctor.model.snapshot import of
from flashdoctor.render.stack import stack_lines, stack_text
from flashdoctor.render.style import Style


def lines_of(*facts: Fact, findings: tuple[Finding, ...] = ()) -> list[str]:
    snapshot = of(facts)
    report = Report(verdict="fail", exit_code=1, snapshot=snapshot, findings=findings)
    return stack_lines(report, Style())


def test_parts_that_nobody_spoke_of_have_no_line() -> None:
    assert lines_of() == []
    assert lines_of(known("torch.version", "2.7.1", "x")) == ["v torch        2.7.1"]


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        (absent("gpu.name", "NVML"), "- GPU          none"),
        (absent("driver.version", "NVML"), "- driver       none"),
        (absent("torch.version", "x"), "- torch        not installed"),
        (absent("flash_attn.version", "x"), "- flash        flash-attn not installed"),
        (absent("vllm.version", "x"), "- vLLM         not installed"),
        (unknown("torch.version", "it hung", "x"), "- torch        not known (it hung)"),
        (known("flash_attn_3.version", "3.0.0", "x"), "v flash        flash-attn-3 3.0.0"),
        (known("gpu.compute_capability", "12.0", "x"), "v GPU          sm_120"),
        (known("wsl.version", 2, "x"), "v host         WSL 2"),
    ],
)
def test_one_line_a_part(fact: Fact, line: str) -> None:
    assert lines_of(fact) == [line]


def test_a_cpu_build_and_an_old_abi_are_said() -> None:
    facts = [known("torch.version", "2.7.1+cpu", "x"), absent("torch.cuda", "x")]
    facts.append(known("torch.cxx11_abi", False, "x"))
    assert lines_of(*facts) == ["v torch        2.7.1+cpu, without CUDA, old C++ ABI"]


def marks(build: Callable[[str], Report], **changed: Any) -> dict[str, str]:
    report = build("fail")
    findings = (report.findings[0]._replace(**changed),)
    lines = stack_lines(report._replace(findings=findings), Style())
    return {line.split()[1]: line[0] for line in lines}


def test_a_finding_marks_the_part_it_is_about(build_report: Callable[[str], Report]) -> None:
    assert marks(build_report)["flash"] == "x"
    assert marks(build_report)["torch"] == "v"
    assert marks(build_report, layer="driver", severity="warning")["driver"] == "!"
    assert marks(build_report, layer="torch")["torch"] == "x"
    assert marks(build_report, layer="framework", name="vllm-torch-pin")["vLLM"] == "x"
    assert marks(build_report, layer="torch", severity="info")["torch"] == "v"
    assert marks(build_report, outcome="crash")["flash"] == "v"


def test_a_finding_of_no_layer_marks_what_its_evidence_is_about(
    build_report: Callable[[str], Report],
) -> None:
    evidence = (Evidence(fact="gpu.visible_devices", value="9", where="environment"),)
    assert marks(build_report, layer="launch", evidence=evidence)["GPU"] == "x"
    assert set(marks(build_report, layer="launch", evidence=()).values()) == {"v", "-"}


def test_the_worst_severity_wins(build_report: Callable[[str], Report]) -> None:
    report = build_report("fail")
    error = report.findings[0]
    for order in (
        (error, error._replace(severity="warning")),
        (error._replace(severity="warning"), error),
    ):
        lines = stack_lines(report._replace(findings=order), Style())
        assert next(line for line in lines if " flash " in line).startswith("x")


def test_stack_text_names_what_is_there(build_report: Callable[[str], Report]) -> None:
    assert stack_text(build_report("pass").snapshot) == (
        "NVIDIA H100 80GB HBM3 sm_90, driver 570.124.06, torch 2.7.1+cu126, flash-attn 2.8.3"
    )
    assert stack_text(of([])) == ""
