"""The profiled peak: what it grows with, and which of its parts is the largest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data.tables import load_tables
from flashdoctor.model.llm import Model
from flashdoctor.model.versions import Capability
from flashdoctor.tune.activation import (
    attention_bytes,
    expert_workspace,
    forward_bytes,
    peak_bytes,
    sampler_bytes,
)
from flashdoctor.tune.config import parse_config
from flashdoctor.tune.defaults import Case, fill
from flashdoctor.tune.memory import Gpu, Settings

MODELS = Path(__file__).resolve().parent.parent / "data" / "models"
TABLES = load_tables()
H200 = Gpu(name="NVIDIA H200", total_bytes=139 << 30, capability=Capability(9, 0))
NAMES = ("llama3.1-8b", "qwen3-30b-a3b", "deepseek-v2-lite", "gemma2-9b", "jamba-v0.1")
VERSIONS = ("0.6.3", "0.8.5", "0.14.0", "0.20.2", "0.25.1", "0.33.0")
MIB = 1 << 20


def read_model(name: str) -> Model:
    return parse_config((MODELS / name / "config.json").read_text(encoding="utf-8"), name)


def case_of(name: str, settings: Settings | None = None, version: str = "0.25.1") -> Case:
    return fill(read_model(name), H200, settings or Settings(), version, TABLES)


def test_a_dense_layer_of_llama_in_eager_mode() -> None:
    eager = Settings(enforce_eager=True, max_num_batched_tokens=16384)
    case = case_of("llama3.1-8b", eager)
    assert forward_bytes(case) == 16384 * 2 * (3 * 14336 + 3 * 4096)
    assert peak_bytes(case) == forward_bytes(case)
    assert forward_bytes(case_of("llama3.1-8b", replace(eager, tensor_parallel_size=2))) == (
        16384 * 2 * (3 * 7168 + 3 * 4096)
    )
    assert forward_bytes(case_of("llama3.1-8b", replace(eager, dtype="float32"))) == (
        2 * forward_bytes(case)
    )


def test_models_differ_in_what_they_hold() -> None:
    eager = Settings(enforce_eager=True, max_num_batched_tokens=1000)
    gemma = case_of("gemma2-9b", eager)
    assert forward_bytes(gemma) == 1000 * 2 * (3 * 14336 + 5 * 3584)
    qwen = case_of("qwen2.5-7b", eager)
    assert forward_bytes(qwen) == 1000 * 2 * (3 * 18944 + 4 * 3584)


def test_few_tokens_leave_the_sampler_on_top() -> None:
    settings = Settings(max_num_batched_tokens=2048, max_num_seqs=1024)
    case = case_of("llama3.1-8b", settings)
    assert peak_bytes(case) == sampler_bytes(case)
    assert sampler_bytes(case) == 1024 * 128256 * 4 * 3 // 2 + 2048 * 4096 * 2
    fewer = case_of("llama3.1-8b", replace(settings, max_num_seqs=8))
    assert peak_bytes(fewer) < peak_bytes(case) / 3


def test_the_sampler_has_no_more_rows_than_tokens() -> None:
    case = case_of("llama3.1-8b", Settings(max_num_batched_tokens=16, max_num_seqs=16))
    assert sampler_bytes(case) == 16 * 128256 * 6 + 16 * 4096 * 2


def test_releases_profile_samplers_of_other_sizes() -> None:
    settings = Settings(max_num_batched_tokens=2048, max_num_seqs=256)
    sizes = {
        version: sampler_bytes(case_of("llama3.1-8b", settings, version)) for version in VERSIONS
    }
    assert sizes["0.6.3"] == sizes["0.8.5"] == sizes["0.14.0"]
    assert sizes["0.14.0"] > 2 * sizes["0.20.2"] > 2 * sizes["0.25.1"]


def test_the_workspace_of_experts_stays_beside_the_sampler() -> None:
    settings = Settings(max_num_batched_tokens=16384, max_num_seqs=1024)
    case = case_of("qwen3-30b-a3b", settings)
    assert expert_workspace(case) == 16384 * 2 * (8 * (2048 + 2048) + 2048)
    assert peak_bytes(case) == expert_workspace(case) + sampler_bytes(case)
    before = case_of("qwen3-30b-a3b", settings, "0.10.2")
    assert peak_bytes(before) < expert_workspace(before) + sampler_bytes(before)
    assert expert_workspace(case_of("llama3.1-8b")) == 0


def test_mla_profiles_context() -> None:
    settings = Settings(max_num_batched_tokens=4096, max_num_seqs=64, max_model_len=8192)
    case = case_of("deepseek-v2-lite", settings)
    longer = case_of("deepseek-v2-lite", replace(settings, max_model_len=32768))
    older = case_of("deepseek-v2-lite", replace(settings, max_model_len=32768), "0.10.2")
    context = 65536 * 16 * 256 * 2
    assert attention_bytes(longer) == attention_bytes(case)
    assert attention_bytes(older) - attention_bytes(longer) == context
    short = case_of("deepseek-v2-lite", replace(settings, max_model_len=1024))
    assert attention_bytes(case) - attention_bytes(short) == context * 7 // 8


@given(
    name=st.sampled_from(NAMES),
    version=st.sampled_from(VERSIONS),
    tokens=st.integers(1, 65536),
    seqs=st.integers(1, 4096),
    ranks=st.sampled_from([1, 2, 4, 8]),
)
def test_the_peak_grows_with_the_batch(
    name: str, version: str, tokens: int, seqs: int, ranks: int
) -> None:
    settings = Settings(
        max_num_batched_tokens=tokens, max_num_seqs=seqs, tensor_parallel_size=ranks
    )
    peak = peak_bytes(case_of(name, settings, version))
    assert peak > 0
    more = (
        replace(settings, max_num_batched_tokens=tokens + 1024),
        replace(settings, max_num_seqs=seqs + 64),
    )
    assert all(peak_bytes(case_of(name, one, version)) >= peak for one in more)
    fewer_ranks = replace(settings, tensor_parallel_size=1)
    assert peak_bytes(case_of(name, fewer_ranks, version)) >= peak
