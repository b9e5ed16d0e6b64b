"""The memory model against recorded starts of vLLM 0.25.1 on an H200, and against itself."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data.tables import load_tables
from flashdoctor.errors import UsageError
from flashdoctor.model.llm import Model
from flashdoctor.model.versions import Capability
from flashdoctor.tune.config import parse_config
from flashdoctor.tune.memory import Gpu, MemoryPlan, Settings, cuda_total, plan

DATA = Path(__file__).resolve().parent.parent / "data"
GIB = 1 << 30
TABLES = load_tables()
KV_RUNS = {
    "qwen2.5-7b_default": 0.03,
    "qwen2.5-7b_eager": 0.03,
    "llama3.1-8b_fp8-kv_eager": 0.03,
    "llama3.1-8b_util-0.5_batch-32768_eager": 0.03,
    "qwen3-30b-a3b_eager": 0.03,
    "deepseek-v2-lite_default": 0.03,
    "gemma2-9b_eager": 0.03,
    "mistral-7b-v0.1_eager": 0.03,
    "qwen2.5-7b-awq_default": 0.03,
    "llama3.1-8b-fp8_eager": 0.03,
}
"""Logs with a KV cache, and how far the predicted tokens may be off."""

GRAPH_RUNS = ("qwen2.5-7b_default", "qwen2.5-7b-awq_default", "deepseek-v2-lite_default")
_RENAMED = {"model", "skip_tokenizer_init", "load_format", "disable_log_stats", "trust_remote_code"}


class Run(NamedTuple):
    """A start that was recorded."""

    log: str
    model: Model
    settings: Settings
    gpu: Gpu

    def number(self, pattern: str) -> float:
        found = re.search(pattern, self.log)
        assert found, pattern
        return float(found[1].replace(",", ""))


def read_model(name: str) -> Model:
    return parse_config((DATA / "models" / name / "config.json").read_text(encoding="utf-8"), name)


def h200() -> Gpu:
    total = cuda_total(143771, tables=TABLES, reserved_mib=615)
    return Gpu(name="NVIDIA H200", total_bytes=total, capability=Capability(9, 0))


def read_run(name: str) -> Run:
    log = (DATA / "launch" / f"{name}.log").read_text(encoding="utf-8")
    found = re.search(r"non-default args: (\{.*\})", log)
    assert found
    given_flags: dict[str, Any] = ast.literal_eval(found[1])
    flags = {key: value for key, value in given_flags.items() if key not in _RENAMED}
    return Run(log, read_model(name.partition("_")[0]), Settings(entry="llm", **flags), h200())


def planned(run: Run) -> MemoryPlan:
    return plan(run.model, run.gpu, run.settings, "0.25.1", tables=TABLES)


def off(predicted: float, measured: float) -> float:
    return abs(predicted / measured - 1)


@pytest.mark.parametrize("name", KV_RUNS)
def test_kv_cache_of_recorded_runs(name: str) -> None:
    run = read_run(name)
    result = planned(run)
    assert result.fits
    assert result.refusal is None
    assert off(result.kv_tokens, run.number(r"GPU KV cache size: ([\d,]+) tokens")) < KV_RUNS[name]
    assert off(result.kv_bytes / GIB, run.number(r"Available KV cache memory: ([\d.]+)")) < 0.03
    assert off(result.concurrency, run.number(r"tokens per request: ([\d.]+)x")) < 0.03


@pytest.mark.parametrize("name", KV_RUNS)
def test_weights_and_defaults_of_recorded_runs(name: str) -> None:
    run = read_run(name)
    result = planned(run)
    assert off(result.weights_bytes / GIB, run.number(r"Model loading took ([\d.]+)")) < 0.01
    batched = run.number(r"enabled with max_num_batched_tokens=(\d+)")
    assert result.settings.max_num_batched_tokens == batched
    assert result.max_model_len == run.number(r"max_seq_len=(\d+)")
    first_runner = "gpu_model_runner.py" in run.log
    assert result.runner == ("V1" if first_runner else "V2")


@pytest.mark.parametrize("name", GRAPH_RUNS)
def test_graphs_of_recorded_runs(name: str) -> None:
    run = read_run(name)
    result = planned(run)
    measured = run.number(r"Graph capturing finished in \d+ secs, took ([\d.]+) GiB")
    assert off(result.graphs_bytes / GIB, measured) < 0.05
    assert not result.graphs_inside


@pytest.mark.parametrize("name", [name for name in KV_RUNS if "deepseek" not in name])
def test_the_peak_of_recorded_runs_is_a_lower_bound(name: str) -> None:
    run = read_run(name)
    measured = run.number(r"READY [\d.]+ NVML after (\d+)")
    reserved = 615
    predicted = (planned(run).peak_bytes >> 20) + reserved
    assert 0.95 < predicted / measured <= 1


@pytest.mark.parametrize("name", ["gemma2-9b_eager", "mistral-7b-v0.1_eager"])
def test_layers_with_a_window_count_as_the_engine_counts_them(name: str) -> None:
    run = read_run(name)
    measured = run.number(r"Available KV cache memory: ([\d.]+)")
    exact = replace(run.settings, kv_cache_memory_bytes=int(measured * GIB))
    result = plan(run.model, run.gpu, exact, "0.25.1", tables=TABLES)
    tokens = run.number(r"GPU KV cache size: ([\d,]+) tokens")
    assert off(result.kv_tokens, tokens) < 0.0001


def test_no_memory_in_the_words_of_the_engine() -> None:
    run = read_run("llama3.1-8b_util-0.12")
    result = planned(run)
    assert not result.fits
    assert result.refusal
    assert f"ValueError: {result.refusal}\n" in run.log
    assert abs(result.kv_bytes / GIB - run.number(r"Available KV cache memory: ([-\d.]+)")) < 0.05
    assert result.longest_model_len == 0
    assert {change.flag for change in result.changes} >= {"--gpu-memory-utilization"}


def test_too_long_in_the_words_of_the_engine() -> None:
    run = read_run("llama3.1-8b_util-0.14")
    result = planned(run)
    said = re.search(r"ValueError: (To serve at least one request.*)", run.log)
    assert said
    assert result.refusal
    number = re.compile(r"\d+(?:\.\d+)?")
    assert number.sub("N", result.refusal) == number.sub("N", said[1])
    pairs = zip(number.findall(result.refusal), number.findall(said[1]), strict=True)
    assert all(off(float(mine), float(theirs)) < 0.03 for mine, theirs in pairs)
    shorter = next(change for change in result.changes if change.flag == "--max-model-len")
    assert 0.97 * 29088 - 1024 < int(shorter.value) <= 1.03 * 29088


def test_longer_than_the_model() -> None:
    run = read_run("llama3.1-8b_length-200000")
    result = planned(run)
    assert result.refusal
    assert result.refusal.replace("131072", "131072.0") in run.log
    assert [change.value for change in result.changes if change.flag == "--max-model-len"] == [
        "131072"
    ]
    allowed = replace(run.settings, environment=(("VLLM_ALLOW_LONG_MAX_MODEL_LEN", "1"),))
    assert plan(run.model, run.gpu, allowed, "0.25.1", tables=TABLES).fits


def test_8b_on_24_gib_fits_with_a_shorter_context() -> None:
    total = cuda_total(24564, tables=TABLES)
    gpu = Gpu(name="NVIDIA GeForce RTX 4090", total_bytes=total, capability=Capability(8, 9))
    model = read_model("llama3.1-8b")
    result = plan(model, gpu, Settings(), "0.25.1", tables=TABLES)
    assert not result.fits
    shorter = next(change for change in result.changes if change.flag == "--max-model-len")
    assert 32768 <= int(shorter.value) < 131072
    assert not shorter.changes_output
    again = plan(model, gpu, Settings(max_model_len=int(shorter.value)), "0.25.1", tables=TABLES)
    assert again.fits
    assert again.longest_model_len == result.longest_model_len


def test_a_published_start_of_0_33() -> None:
    """Llama-3.1-8B on a card of 79.25 GiB: 56.21 GiB of KV cache, 460,496 tokens."""
    gpu = Gpu(name="A100", total_bytes=int(79.25 * GIB), capability=Capability(8, 0))
    result = plan(read_model("llama3.1-8b"), gpu, Settings(), "0.33.0", tables=TABLES)
    assert off(result.budget_bytes / GIB, 72.91) < 0.001
    assert off(result.kv_tokens, 460496) < 0.03


@pytest.mark.parametrize(
    ("version", "model", "seqs", "tokens", "measured"),
    [
        ("0.6.5", "llama3.1-8b", 256, 8192, 1.26),
        ("0.7.3", "llama3.1-8b", 256, 2048, 1.19),
        ("0.14.0", "qwen3-8b", 256, 2048, 1.40),
    ],
)
def test_published_peaks_of_older_releases(
    version: str, model: str, seqs: int, tokens: int, measured: float
) -> None:
    settings = Settings(max_num_seqs=seqs, max_num_batched_tokens=tokens, max_model_len=4096)
    result = plan(read_model(model), h200(), settings, version, tables=TABLES)
    assert off(result.activation_bytes / GIB, measured) < 0.05


def test_weights_larger_than_the_card() -> None:
    gpu = Gpu(name="RTX 4060", total_bytes=cuda_total(8188, tables=TABLES))
    result = plan(read_model("llama3.1-8b"), gpu, Settings(), "0.25.1", tables=TABLES)
    assert result.refusal == "CUDA out of memory."
    assert "--tensor-parallel-size" in {change.flag for change in result.changes}


def test_other_processes_count_by_release() -> None:
    model, card = read_model("qwen2.5-7b"), h200()
    busy = replace(card, used_bytes=20 * GIB)
    kv = {
        (version, used): plan(model, gpu, Settings(), version, tables=TABLES).kv_bytes
        for version in ("0.3.0", "0.6.3", "0.8.5")
        for used, gpu in ((False, card), (True, busy))
    }
    assert kv["0.3.0", False] - kv["0.3.0", True] == 20 * GIB
    assert kv["0.6.3", False] == kv["0.6.3", True]
    assert kv["0.8.5", False] - kv["0.8.5", True] == 20 * GIB
    refused = plan(model, busy, Settings(), "0.25.1", tables=TABLES)
    assert refused.refusal
    assert refused.refusal.startswith("Free memory on device cuda:0 (119.8/139.8 GiB) on startup")
    assert plan(model, busy, Settings(gpu_memory_utilization=0.8), "0.25.1", tables=TABLES).fits


def test_fewer_gpus_hold_more_each() -> None:
    model = read_model("llama3.1-8b")
    one, two, four = (
        plan(model, h200(), Settings(tensor_parallel_size=n), "0.25.1", tables=TABLES)
        for n in (1, 2, 4)
    )
    assert one.weights_bytes > 1.9 * two.weights_bytes > 3.6 * four.weights_bytes
    assert one.kv_bytes_per_token == 2 * two.kv_bytes_per_token == 4 * four.kv_bytes_per_token
    assert any("NCCL" in note for note in two.notes)


def test_no_version_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="not a version"):
        plan(read_model("qwen2.5-7b"), h200(), Settings(), "newest", tables=TABLES)
    odd = Settings(kv_cache_dtype="octave_4bit")
    with pytest.raises(UsageError, match="not known"):
        plan(read_model("qwen2.5-7b"), h200(), odd, "0.33.0", tables=TABLES)


@pytest.mark.parametrize(
    "version", ["0.2.7", "0.6.3", "0.8.5", "0.10.2", "0.14.0", "0.25.1", "0.33.0"]
)
@pytest.mark.parametrize(
    "name", sorted(path.parent.name for path in DATA.glob("models/*/config.json"))
)
def test_every_model_and_era_adds_up(name: str, version: str) -> None:
    result = plan(read_model(name), h200(), Settings(), version, tables=TABLES)
    parts = result.weights_bytes + result.activation_bytes + result.non_torch_bytes
    inside = result.graphs_bytes if result.graphs_inside else 0
    own_context = result.budget_bytes - parts - inside - result.kv_bytes
    assert 0 <= own_context < GIB
    assert result.fits == (result.refusal is None)
    assert result.fits == (not result.changes) or not result.changes
    if result.fits and result.kv_tokens:
        assert result.longest_model_len >= result.max_model_len
        assert result.concurrency >= 0.99


_SETTINGS = st.builds(
    Settings,
    max_model_len=st.none() | st.integers(1, 131072),
    gpu_memory_utilization=st.none() | st.floats(0.05, 1.0),
    max_num_seqs=st.none() | st.integers(1, 4096),
    max_num_batched_tokens=st.none() | st.integers(1, 65536),
    kv_cache_dtype=st.sampled_from(["auto", "fp8", "fp8_e5m2", "bfloat16"]),
    block_size=st.sampled_from([None, 8, 16, 32, 64, 128]),
    tensor_parallel_size=st.integers(1, 16),
    pipeline_parallel_size=st.integers(1, 4),
    enforce_eager=st.booleans(),
    enable_chunked_prefill=st.sampled_from([None, True, False]),
    enable_prefix_caching=st.sampled_from([None, True, False]),
    hybrid_kv_cache=st.booleans(),
    entry=st.sampled_from(["serve", "llm"]),
)


@given(
    settings=_SETTINGS,
    version=st.sampled_from(["0.4.0", "0.7.3", "0.9.0", "0.11.0", "0.20.0", "0.25.1", "0.40.0"]),
    name=st.sampled_from(["llama3.1-8b", "gemma2-9b", "deepseek-v3", "jamba-v0.1", "gpt-oss-20b"]),
    total=st.integers(1, 300),
)
def test_what_is_said_to_be_the_longest_fits(
    settings: Settings, version: str, name: str, total: int
) -> None:
    gpu = Gpu(name=None, total_bytes=total * GIB)
    model = read_model(name)
    result = plan(model, gpu, settings, version, tables=TABLES)
    assert result.fits == (result.refusal is None)
    assert result.num_blocks >= 0
    assert all(change.value or change.flag == "--enforce-eager" for change in result.changes)
    if result.fits:
        assert result.longest_model_len >= result.max_model_len
        assert result.kv_bytes > 0
