"""What vLLM fills in by itself, by release, GPU and entry."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.errors import MatrixError, UsageError
from flashdoctor.model.llm import Layer, Model
from flashdoctor.model.versions import Capability
from flashdoctor.tune.config import parse_config
from flashdoctor.tune.defaults import Case, fill
from flashdoctor.tune.memory import Gpu, Settings

MODELS = Path(__file__).resolve().parent.parent / "data" / "models"
TABLES = load_tables()
GIB = 1 << 30
H200 = Gpu(name="NVIDIA H200", total_bytes=139 * GIB, capability=Capability(9, 0))
A100 = Gpu(name="NVIDIA A100-SXM4-80GB", total_bytes=79 * GIB, capability=Capability(8, 0))
B200 = Gpu(name="NVIDIA B200", total_bytes=178 * GIB, capability=Capability(10, 0))
L4 = Gpu(name="NVIDIA L4", total_bytes=22 * GIB, capability=Capability(8, 9))
T4 = Gpu(name="Tesla T4", total_bytes=15 * GIB, capability=Capability(7, 5))
GB10 = Gpu(name="NVIDIA GB10", total_bytes=119 * GIB, capability=Capability(12, 1))


def read_model(name: str) -> Model:
    return parse_config((MODELS / name / "config.json").read_text(encoding="utf-8"), name)


LLAMA, QWEN_MOE, DEEPSEEK, JAMBA = map(
    read_model, ("llama3.1-8b", "qwen3-30b-a3b", "deepseek-v2-lite", "jamba-v0.1")
)


def case_of(
    version: str, gpu: Gpu = H200, settings: Settings | None = None, model: Model = LLAMA
) -> Case:
    return fill(model, gpu, settings or Settings(), version, TABLES)


@pytest.mark.parametrize(
    ("version", "gpu", "settings", "engine"),
    [
        ("0.6.3", H200, Settings(), "V0"),
        ("0.7.3", H200, Settings(), "V0"),
        ("0.7.3", H200, Settings(engine="V1"), "V1"),
        ("0.8.5", H200, Settings(), "V1"),
        ("0.8.5", T4, Settings(), "V0"),
        ("0.8.5", L4, Settings(kv_cache_dtype="fp8"), "V0"),
        ("0.8.5", H200, Settings(kv_cache_dtype="fp8"), "V1"),
        ("0.8.5", H200, Settings(dtype="float32"), "V0"),
        ("0.9.2", H200, Settings(environment=(("VLLM_USE_V1", "0"),)), "V0"),
        ("0.10.2", T4, Settings(), "V1"),
        ("0.11.0", T4, Settings(engine="V0"), "V1"),
    ],
)
def test_engine(version: str, gpu: Gpu, settings: Settings, engine: str) -> None:
    assert case_of(version, gpu, settings).engine == engine


@pytest.mark.parametrize(
    ("version", "model", "runner"),
    [
        ("0.10.2", LLAMA, "V1"),
        ("0.21.0", LLAMA, "V1"),
        ("0.22.1", LLAMA, "V1"),
        ("0.22.1", read_model("qwen3-8b"), "V2"),
        ("0.24.0", LLAMA, "V2"),
        ("0.24.0", read_model("qwen3-8b"), "V2"),
        ("0.24.0", read_model("gemma2-9b"), "V1"),
        ("0.25.1", read_model("gemma2-9b"), "V2"),
        ("0.25.1", QWEN_MOE, "V1"),
        ("0.25.1", DEEPSEEK, "V2"),
        ("0.25.1", JAMBA, "V1"),
        ("0.30.0", JAMBA, "V2"),
        ("0.33.0", QWEN_MOE, "V2"),
    ],
)
def test_runner(version: str, model: Model, runner: str) -> None:
    assert case_of(version, model=model).runner == runner


def test_runner_can_be_forced() -> None:
    for value, runner in (("0", "V1"), ("1", "V2")):
        forced = Settings(environment=(("VLLM_USE_V2_MODEL_RUNNER", value),))
        assert case_of("0.25.1", settings=forced).runner == runner
        assert case_of("0.11.0", settings=forced).runner == "V1"


@pytest.mark.parametrize(
    ("version", "gpu", "entry", "tokens", "seqs"),
    [
        ("0.8.5", A100, "serve", 8192, 1024),
        ("0.9.2", A100, "serve", 2048, 256),
        ("0.25.1", H200, "serve", 8192, 1024),
        ("0.25.1", H200, "llm", 16384, 1024),
        ("0.25.1", L4, "serve", 2048, 256),
        ("0.25.1", L4, "llm", 8192, 256),
        ("0.25.1", B200, "serve", 8192, 1024),
        ("0.28.0", B200, "serve", 16384, 1024),
        ("0.32.0", GB10, "serve", 8192, 1024),
        ("0.33.0", GB10, "serve", 2048, 256),
        ("0.40.0", H200, "serve", 8192, 1024),
        ("0.6.3", H200, "serve", 512, 256),
        ("0.7.3", H200, "serve", 2048, 256),
    ],
)
def test_sizes_of_the_scheduler(version: str, gpu: Gpu, entry: str, tokens: int, seqs: int) -> None:
    settings = case_of(version, gpu, Settings(entry=entry)).settings
    assert (settings.max_num_batched_tokens, settings.max_num_seqs) == (tokens, seqs)


def test_sizes_that_are_given_stay() -> None:
    given = Settings(max_num_batched_tokens=100, max_num_seqs=7)
    settings = case_of("0.25.1", settings=given).settings
    assert (settings.max_num_batched_tokens, settings.max_num_seqs) == (100, 7)


def test_sizes_are_fitted_to_each_other() -> None:
    few = case_of("0.25.1", settings=Settings(max_num_seqs=2, max_model_len=1000)).settings
    assert few.max_num_batched_tokens == 2000
    small = case_of("0.25.1", settings=Settings(max_num_batched_tokens=64)).settings
    assert small.max_num_seqs == 64
    whole = case_of("0.25.1", settings=Settings(enable_chunked_prefill=False)).settings
    assert whole.max_num_batched_tokens == 131072


def test_v0_runs_whole_prompts_below_its_limit() -> None:
    short = case_of("0.7.3", settings=Settings(max_model_len=16384)).settings
    assert not short.enable_chunked_prefill
    assert short.max_num_batched_tokens == 16384
    assert case_of("0.7.3").settings.enable_chunked_prefill
    assert not case_of("0.5.0").settings.enable_chunked_prefill


@pytest.mark.parametrize(
    ("version", "usage"), [("0.19.1", 0.9), ("0.20.0", 0.92), ("0.33.0", 0.92)]
)
def test_utilization(version: str, usage: float) -> None:
    assert case_of(version).settings.gpu_memory_utilization == usage


def test_bfloat16_falls_back_on_old_cards() -> None:
    assert case_of("0.25.1").settings.dtype == "bfloat16"
    assert case_of("0.25.1", T4).settings.dtype == "float16"
    assert case_of("0.25.1", T4, Settings(dtype="bfloat16")).settings.dtype == "bfloat16"
    assert case_of("0.25.1", settings=Settings(dtype="half")).settings.dtype == "float16"
    wide = replace(LLAMA, dtype="float32")
    assert case_of("0.25.1", model=wide).settings.dtype == "bfloat16"
    assert (
        case_of("0.25.1", settings=Settings(dtype="float"), model=wide).settings.dtype == "float32"
    )


def test_prefix_caching() -> None:
    assert case_of("0.25.1").settings.enable_prefix_caching
    assert not case_of("0.7.3").settings.enable_prefix_caching
    assert not case_of("0.25.1", model=JAMBA).settings.enable_prefix_caching
    assert case_of("0.28.0", model=JAMBA).settings.enable_prefix_caching
    free = replace(JAMBA, layers=(Layer("mamba"),) * 4)
    assert not case_of("0.33.0", model=free).settings.enable_prefix_caching


def test_graph_modes() -> None:
    assert case_of("0.10.2").settings.cudagraph_mode == "PIECEWISE"
    assert case_of("0.25.1").settings.cudagraph_mode == "FULL_AND_PIECEWISE"
    assert case_of("0.7.3").settings.cudagraph_mode == "FULL"
    assert (
        case_of("0.25.1", settings=Settings(enforce_eager=True)).settings.cudagraph_mode == "NONE"
    )
    asked = Settings(cudagraph_mode="full_decode_only")
    assert case_of("0.25.1", settings=asked).settings.cudagraph_mode == "FULL_DECODE_ONLY"


def test_length_of_the_model_or_of_vllm() -> None:
    assert case_of("0.25.1").settings.max_model_len == 131072
    silent = replace(LLAMA, max_positions=None)
    assert case_of("0.25.1", model=silent).settings.max_model_len == 2048


def test_wrong_names_are_told() -> None:
    with pytest.raises(UsageError, match="latest"):
        case_of("latest")
    with pytest.raises(MatrixError, match="no constant 'speed'"):
        case_of("0.25.1").constant("speed")
