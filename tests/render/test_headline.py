from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.model.facts import known
from flashdoctor.model.finding import Report
from flashdoctor.model.rule import LAYERS, Component
from flashdoctor.model.snapshot import merge, of
from flashdoctor.render.headline import headline, place
from flashdoctor.render.style import Style


@pytest.mark.parametrize(
    ("executable", "shown"),
    [
        ("./.venv/bin/python", "./.venv"),
        ("~/envs/a b/bin/python3.11", "~/envs/a b"),
        (r"C:\envs\x\Scripts\python.exe", r"C:\envs\x"),
        ("/usr/bin/python3", "/usr"),
        ("python", "python"),
        ("/bin/python", "this environment"),
        (7, "this environment"),
    ],
)
def test_place_is_the_folder_of_the_environment(executable: object, shown: str) -> None:
    assert place(of([known("python.executable", executable, "agent")])) == shown


def test_place_of_assumed_facts() -> None:
    assert place(of([known("torch.version", "2.7.1", "--assume")])) == "the assumed stack"


@pytest.mark.parametrize("layer", LAYERS)
def test_every_layer_has_a_headline(build_report: Callable[[str], Report], layer: str) -> None:
    report = build_report("fail")
    broken = report._replace(findings=(report.findings[0]._replace(layer=layer),))
    line = " ".join(headline(broken, Style()))
    assert line.startswith("FAIL  ")
    assert line.endswith("./.venv")
    assert "something" not in line


def test_a_framework_is_named(build_report: Callable[[str], Report]) -> None:
    report = build_report("fail")
    root = report.findings[0]._replace(layer="framework", name="vllm-torch-pin")
    line = headline(report._replace(findings=(root,)), Style())
    assert line == ["FAIL  vLLM cannot run as installed in ./.venv"]


def test_what_was_required_is_what_fits(build_report: Callable[[str], Report]) -> None:
    report = build_report("pass")
    three = report._replace(required=("fa3", "sdpa", "vllm"))
    assert headline(three, Style()) == [
        "PASS  FlashAttention-3, SDPA's flash kernel and vLLM fit ./.venv"
    ]
    assert headline(report._replace(verdict="warn"), Style()) == [
        "WARN  no error found in ./.venv, with 0 warnings"
    ]


def test_what_was_required_and_seen_to_run_is_proven(build_report: Callable[[str], Report]) -> None:
    report = build_report("pass")
    cases = [
        {"proven": True, "components": ["sdpa"]},
        {"proven": True, "components": ["transformers", "flash-attn"]},
        {"proven": False, "components": ["fa3"]},
        {"proven": True, "components": 7},
        "no case",
    ]
    facts = merge(of([known("smoke.cases", cases, "kernels that ran")]), report.snapshot)
    seen = report._replace(snapshot=facts)
    answers: tuple[tuple[tuple[Component, ...], str], ...] = (
        (("flash-attn",), "flash-attn is proven in ./.venv"),
        (("flash-attn", "sdpa"), "flash-attn and a fused kernel of SDPA are proven in ./.venv"),
        (("flash-attn", "fa3"), "flash-attn and FlashAttention-3 fit ./.venv"),
    )
    for required, words in answers:
        assert headline(seen._replace(required=required), Style()) == [f"PASS  {words}"]
