from __future__ import annotations

import shlex
from collections.abc import Callable
from itertools import pairwise

import pytest

from flashdoctor.engine.assume import read_assumptions
from flashdoctor.model.facts import absent, known, unknown
from flashdoctor.model.finding import Report
from flashdoctor.model.snapshot import of
from flashdoctor.render.missing import missing_line, missing_lines, next_steps
from flashdoctor.render.style import Style


def commands(report: Report) -> list[str]:
    lines = missing_lines(report, Style())
    starts = [place for place, line in enumerate(lines) if line.endswith(":")]
    return [line.strip() for line in lines[starts[-1] + 1 :]] if len(starts) > 1 else []


def test_reason_and_command_are_given(build_report: Callable[[str], Report]) -> None:
    report = build_report("undetermined")
    assert "    driver                  NVML: driver not loaded" in missing_lines(report, Style())
    assert commands(report) == [
        "nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv"
    ]


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("torch.version", "~/'my env/bin/python' -c \"import torch; print(torch.__version__)\""),
        ("flash_attn.version", "~/'my env/bin/python' -m pip show flash-attn"),
        ("vllm.version", "~/'my env/bin/python' -m pip show vllm"),
    ],
)
def test_the_command_asks_the_same_interpreter(
    build_report: Callable[[str], Report], path: str, command: str
) -> None:
    facts = of([known("python.executable", "~/my env/bin/python", "agent")])
    assert commands(build_report("undetermined")._replace(snapshot=facts, missing=(path,))) == [
        command
    ]


def test_without_an_interpreter_the_first_thing_is_to_name_one(
    build_report: Callable[[str], Report],
) -> None:
    facts = of(
        [
            known("python.status", "not-found", "PATH"),
            unknown("torch.version", "no interpreter", "agent"),
        ]
    )
    report = build_report("undetermined")._replace(snapshot=facts, missing=("torch.version",))
    assert commands(report) == ["flashdoctor check --python PATH"]


def test_what_is_not_there_may_be_in_another_environment(
    build_report: Callable[[str], Report],
) -> None:
    facts = of([absent("torch.version", "sys.path"), absent("gpu.name", "NVML")])
    missing = ("gpu.name", "torch.version")
    report = build_report("undetermined")._replace(snapshot=facts, missing=missing)
    assert "    torch     not installed" in missing_lines(report, Style())
    assert commands(report)[1:] == ["flashdoctor check --python PATH"]


def test_assumed_facts_are_given_back_as_they_were(build_report: Callable[[str], Report]) -> None:
    items = [
        "gpu=NVIDIA GeForce RTX 4090",
        "gpu_memory_gib=24",
        "vllm=absent",
        "cxx11_abi=true",
        "torch.arch_list=sm_80,sm_90",
    ]
    assumed = read_assumptions(items)
    report = build_report("undetermined_assumed")._replace(snapshot=assumed)
    (command,) = commands(report)
    words = shlex.split(command)
    stated = [word for before, word in pairwise(words) if before == "--assume"]
    assert stated[-1] == "torch=VERSION"
    assert read_assumptions(stated[:-1]).facts == assumed.facts
    assert words[-2:] == ["--require", "sdpa"]


def test_a_known_fact_that_decides_nothing_is_told_apart(
    build_report: Callable[[str], Report],
) -> None:
    lines = missing_lines(build_report("undecided"), Style())
    assert "    flash-attn  2.8.3, but the rules that decide lack other facts" in lines
    assert "  --verbose lists what each skipped rule lacks." in lines
    assert commands(build_report("undecided")) == []


def test_what_a_failure_does_not_hang_on_is_one_line(
    build_report: Callable[[str], Report],
) -> None:
    assert missing_line(build_report("crash"), Style()) == ["  Not known either: vLLM"]


@pytest.mark.parametrize("name", ["undetermined", "undetermined_assumed", "undecided", "nothing"])
def test_no_verdict_is_left_without_a_next_step(
    build_report: Callable[[str], Report], name: str
) -> None:
    steps = next_steps(build_report(name))
    assert steps
    assert all(step.command and step.why for step in steps)


def test_a_verdict_needs_no_next_step(build_report: Callable[[str], Report]) -> None:
    assert next_steps(build_report("crash")) == ()


def test_a_fact_that_no_command_tells_leads_to_the_whole_list(
    build_report: Callable[[str], Report],
) -> None:
    facts = of([unknown("os.glibc", "no confstr", "confstr")])
    report = build_report("undetermined")._replace(snapshot=facts, missing=("os.glibc",))
    assert [step.command for step in next_steps(report)] == ["flashdoctor check --verbose"]
    assert "  --verbose lists what each skipped rule lacks." in missing_lines(report, Style())
