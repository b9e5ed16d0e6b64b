from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.vllm_log import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        ("INFO [utils.py:1] vLLM server version 0.18.0rc1.dev5+g1234abc, serving model a/b",
         "vllm.version", "0.18.0rc1.dev5+g1234abc"),
        ("Initializing an LLM engine with config: model='a/b', dtype=torch.float16",
         "engine.dtype", "float16"),
        ("Casting torch.bfloat16 to torch.float16.", "engine.dtype", "float16"),
        ("Using fp8_e4m3 data type to store kv cache.", "engine.kv_cache_dtype", "fp8_e4m3"),
        ("Model loading took 14.9888 GiB and 13.2 seconds", "engine.weights_gib", 14.9888),
        ("# CUDA blocks: 5517, # CPU blocks: 9362", "engine.kv_blocks", 5517),
        ("# cuda blocks: 14815, # CPU blocks: 1966", "engine.kv_blocks", 14815),
        ("total_gpu_memory=7.92GiB kv_cache_size=3.54GiB gpu_memory_utilization=0.90",
         "engine.kv_gib", 3.54),
        ("Maximum concurrency for 32768 tokens per request: 92.82x", "engine.max_model_len", 32768),
        ("Graph capturing finished in 8 secs, took 0.31 GiB", "engine.graphs_gib", 0.31),
        ("usage is 14.99 GiB for weight, 0.85 GiB for peak activation, 0.27 GiB for non-torch",
         "engine.activation_gib", 0.85),
        ("non_torch_memory takes 0.16GiB; PyTorch activation peak memory takes 1.26GiB; the rest",
         "engine.activation_gib", 1.26),
        ("vLLM is using nccl==2.27.3", "torch.nccl", "2.27.3"),
    ],
)  # fmt: skip
def test_one_line(line: str, path: str, value: object, entries: Entries) -> None:
    assert entries(PARSER, line)[path] == [1, 3, value]


def test_the_smallest_cache_of_the_workers_counts(stated: Stated) -> None:
    text = "GPU KV cache size: 1,000 tokens\nGPU KV cache size: 900 tokens\n"
    assert stated(PARSER, text)["engine.kv_tokens"] == 900


def test_another_start_does_not_lower_the_sizes_of_the_first(stated: Stated) -> None:
    start = "Initializing a V1 LLM engine (v0.10.2) with config: model='a/b'\n"
    text = f"{start}GPU KV cache size: 1,000 tokens\n{start}GPU KV cache size: 900 tokens\n"
    assert stated(PARSER, text)["engine.kv_tokens"] == 1000


def test_readiness_counts_only_for_an_engine_that_was_met(stated: Stated) -> None:
    assert stated(PARSER, "INFO:     Application startup complete.") == {}
    found = stated(PARSER, "Using max model len 8\nINFO:     Application startup complete.")
    assert found["engine.ready"] is True


def test_what_is_left_to_vllm_is_not_stated(stated: Stated) -> None:
    found = stated(PARSER, "args: Namespace(model='a/b', dtype='auto', quantization=None)")
    assert found == {"engine.name": "vllm", "launch.program": "vllm", "model.name": "a/b"}
