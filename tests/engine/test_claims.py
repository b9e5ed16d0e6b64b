from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor import pipeline
from flashdoctor.data.folklore import load_claims
from flashdoctor.engine.claims import carried
from flashdoctor.logs.lines import read_lines
from flashdoctor.model.facts import known
from flashdoctor.model.finding import Evidence, Finding, Report
from flashdoctor.model.snapshot import of

TABLES = pipeline.tables()
HITS = [text for claim in load_claims(TABLES) for text in claim.hits]
AMPERE = "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"


def read(text: str) -> Report:
    return pipeline.diagnose(read_lines([text.encode()]))


def names(text: str) -> list[str]:
    return [claim.id for claim in read(text).folklore]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (f"{AMPERE}GPU: Tesla T4\n", ["fa2-turing"]),
        (f"{AMPERE}GPU: NVIDIA GeForce RTX 5090\n", ["fa2-blackwell"]),
        (f"{AMPERE}GPU: Tesla V100-SXM2-16GB\n", []),
        (AMPERE, []),
        (
            "UserWarning: 1Torch was not compiled with flash attention.\n",
            ["not-compiled-with-flash"],
        ),
        ("$ vllm serve m --disable-cuda-graph\n", ["disable-cuda-graph"]),
        ("$ export VLLM_USE_V1=0\n$ vllm serve m\nvllm==0.19.1\n", ["vllm-use-v1"]),
    ],
)
def test_a_line_or_command_of_a_paste_points_at_the_claim(text: str, claims: list[str]) -> None:
    assert names(text) == claims


@pytest.mark.parametrize(
    ("version", "claims"), [("0.8.5", []), ("0.19.1", ["vllm-attention-backend-variable"])]
)
def test_what_still_holds_for_that_release_is_no_folklore(version: str, claims: list[str]) -> None:
    text = f"vllm=={version}\n$ VLLM_ATTENTION_BACKEND=FLASHINFER vllm serve m\n"
    assert names(text) == claims


def test_a_healthy_report_points_at_nothing() -> None:
    text = "torch 2.8.0+cu128\nvllm 0.10.2\nGPU: NVIDIA L4\nDriver Version: 580.65.06\n"
    assert names(f"{text}$ vllm serve m\n") == []


def test_the_report_names_claim_verdict_and_command() -> None:
    report = read(f"{AMPERE}GPU: Tesla T4\n")
    [pointer] = json.loads(json.dumps(report.to_json()))["folklore"]
    assert pointer == {
        "id": "fa2-turing",
        "claim": "FlashAttention-2 is coming to Turing, and old releases of it run on a T4",
        "verdict": "false",
        "command": "flashdoctor folklore fa2-turing",
    }
    assert "folklore" not in read("torch 2.8.0+cu128\n").to_json()


FOUND = st.sampled_from(HITS) | st.text()


@given(st.lists(FOUND, max_size=4), st.lists(FOUND, max_size=3), st.none() | st.text())
def test_any_text_is_looked_through(lines: list[str], values: list[str], gpu: str | None) -> None:
    evidence = tuple(Evidence(value=text, where="", line=1) for text in lines)
    found = Finding("LS1", "n", "c", "fail", "error", "t", "host", evidence=evidence)
    environment = [{"name": "N", "value": value} for value in values]
    facts = [known("launch.environment", environment, "a"), known("launch.command", "x", "a")]
    if gpu:
        facts.append(known("gpu.compute_capability", gpu, "a"))
    claims = carried([found], of(facts), TABLES)
    assert len(set(claims)) == len(claims)
