"""What ran on an H200 under torch 2.11, transformers 5.17, vLLM 0.25.1 and FlashInfer 0.6.13."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.smoke.classify import attention_family, reasons

DATA = Path(__file__).parents[1] / "data" / "smoke"
TABLES = load_tables()


def results(group: str) -> dict[str, dict[str, Any]]:
    """Return the recorded results of a group by the names of the cases."""
    text = (DATA / f"frameworks_h200_{group}.jsonl").read_text(encoding="utf-8")
    events = [json.loads(line) for line in text.splitlines()]
    return {event["name"]: event for event in events if event["event"] == "result"}


@pytest.mark.parametrize(
    ("group", "name", "family"),
    [
        ("transformers", "transformers-eager", "math"),
        ("transformers", "transformers-sdpa", "cudnn"),
        ("transformers", "transformers-default", "cudnn"),
        ("transformers", "transformers-sdpa-padding", "cudnn"),
        ("transformers", "transformers-fa2", "fa2"),
        ("transformers", "transformers-fa2-padding", "fa2"),
        ("transformers", "transformers-fa2-backward", "fa2"),
        ("transformers", "transformers-flex", "flex"),
        ("transformers_gemma3", "gemma3-fa2", "fa2"),
        ("transformers_gemma3", "gemma3-eager", "math"),
        ("vllm_kernels", "vllm-fa2-varlen", "fa2"),
        ("vllm_kernels", "vllm-fa2-paged", "fa2"),
        ("vllm_kernels", "vllm-fa3-varlen", "fa3"),
        ("vllm_kernels", "vllm-fa3-paged", "fa3"),
        ("vllm_kernels", "vllm-fa4-varlen", "fa4"),
        ("vllm_kernels", "vllm-fa4-paged", "fa4"),
        ("vllm_engine", "vllm", "fa3"),
        ("vllm_engine", "vllm-triton", "triton"),
        ("flashinfer", "flashinfer-prefill", "flashinfer"),
        ("flashinfer", "flashinfer-decode", "flashinfer"),
    ],
)
def test_the_kernels_tell_the_family(group: str, name: str, family: str) -> None:
    result = results(group)[name]
    assert result["status"] == "ran"
    assert attention_family(TABLES, result["kernels"])[0] == family


def test_an_implementation_that_a_model_bypasses_shows_in_the_kernels_alone() -> None:
    result = results("transformers_bypass")["bypass-fa2"]
    assert result["asked"] == {"attn_implementation": "flash_attention_2"}
    assert result["got"]["attn_implementation"] == "flash_attention_2"
    assert attention_family(TABLES, result["kernels"])[0] == "math"


@pytest.mark.parametrize("name", ["transformers-fa2", "transformers-fa3"])
def test_a_hidden_package_is_refused_for_that_cause(name: str) -> None:
    result = results("transformers_hidden")[name]
    assert result["status"] == "refused"
    assert reasons(TABLES, result["messages"])[0].cause


def test_an_engine_says_what_it_chose_and_what_it_passed_over() -> None:
    got = results("vllm_engine")["vllm"]["got"]
    assert (got["backend"], got["fa_version"]) == ("FLASH_ATTN", 3)
    assert got["candidates"] == ["FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", "FLEX_ATTENTION"]
    assert got["rejections"] == {"TURBOQUANT": ["kv_cache_dtype not supported"]}


def test_a_backend_that_does_not_fit_is_refused_with_its_reasons() -> None:
    result = results("vllm_engine")["vllm-mla"]
    assert result["status"] == "refused"
    wanted = ["head_size not supported", "non-MLA not supported"]
    assert result["got"]["rejections"] == {"FLASHMLA": wanted}
    assert "FLASHMLA" in {reason.backend for reason in reasons(TABLES, result["messages"])}
