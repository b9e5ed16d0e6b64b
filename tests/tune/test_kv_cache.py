"""Blocks, groups and pools of the KV cache, against what the engine's sources and logs say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data.tables import load_tables
from flashdoctor.errors import UsageError
from flashdoctor.model.llm import MLA, Layer, Model, Quantization, State
from flashdoctor.tune.config import parse_config
from flashdoctor.tune.defaults import Case, fill
from flashdoctor.tune.kv_cache import (
    Group,
    Pool,
    Spec,
    block_size,
    ceil,
    layer_token_bytes,
    pool_of,
    state_bytes,
    uses_mla,
)
from flashdoctor.tune.memory import Gpu, Settings, plan

MODELS = Path(__file__).resolve().parent.parent / "data" / "models"
TABLES = load_tables()
GPU = Gpu(name="NVIDIA H200", total_bytes=140 << 30)


def read_model(name: str) -> Model:
    return parse_config((MODELS / name / "config.json").read_text(encoding="utf-8"), name)


def case_of(model: Model | str, settings: Settings | None = None, version: str = "0.25.1") -> Case:
    read = read_model(model) if isinstance(model, str) else model
    return fill(read, GPU, settings or Settings(), version, TABLES)


def pool(model: Model | str, settings: Settings | None = None, version: str = "0.25.1") -> Pool:
    found = pool_of(case_of(model, settings, version))
    assert found is not None
    return found


def kinds(found: Pool) -> list[tuple[int, str]]:
    return [(group.layers, group.spec.kind) for group in found.groups]


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("auto", 4096),
        ("bfloat16", 4096),
        ("fp8", 2048),
        ("fp8_e5m2", 2048),
        ("int8_per_token_head", 2112),
        ("int4_per_token_head", 1088),
        ("nvfp4", 1152),
        ("turboquant_k8v4", 1568),
        ("turboquant_3bit_nc", 816),
    ],
)
def test_bytes_of_a_token_in_a_layer_of_eight_heads(dtype: str, size: int) -> None:
    case = case_of("llama3.1-8b", Settings(kv_cache_dtype=dtype), "0.33.0")
    assert layer_token_bytes(case, case.model.layers[0]) == size


def test_every_cache_type_of_the_table_has_its_measured_size() -> None:
    for row in TABLES.table("launch/memory")["kv_dtype"]:
        case = case_of("llama3.1-8b", Settings(kv_cache_dtype=row["name"]), "0.33.0")
        assert layer_token_bytes(case, case.model.layers[0]) == row["bytes_8_heads_of_128"]


def test_kv_heads_are_copied_beyond_one_a_rank() -> None:
    sizes = [
        layer_token_bytes(
            case_of("llama3.1-8b", Settings(tensor_parallel_size=ranks)), Layer("full")
        )
        for ranks in (1, 8, 16)
    ]
    assert sizes == [4096, 512, 512]


@pytest.mark.parametrize(
    ("dtype", "size"), [("auto", 1152), ("fp8", 576), ("fp8_ds_mla", 656), ("nvfp4_ds_mla", 352)]
)
def test_the_latent_is_not_divided_by_ranks(dtype: str, size: int) -> None:
    for ranks in (1, 8):
        settings = Settings(kv_cache_dtype=dtype, tensor_parallel_size=ranks)
        case = case_of("deepseek-v2-lite", settings)
        assert layer_token_bytes(case, case.model.layers[0]) == size


def test_full_heads_before_mla_or_without_it() -> None:
    old = case_of("deepseek-v2-lite", version="0.7.0")
    off = case_of("deepseek-v2-lite", Settings(environment=(("VLLM_MLA_DISABLE", "1"),)), "0.25.1")
    for case in (old, off):
        assert not uses_mla(case)
        assert layer_token_bytes(case, case.model.layers[0]) == 2 * 16 * 192 * 2


def test_an_indexer_has_a_cache_of_its_own() -> None:
    model = read_model("deepseek-v2-lite")
    assert model.mla is not None
    sparse = replace(model, mla=MLA(*model.mla[:5], indexer_head_dim=128))
    assert pool(sparse).block_bytes == 27 * 16 * (1152 + 132)


def test_block_size_of_mla_follows_the_backend() -> None:
    flash = Settings(attention_backend="FLASHMLA")
    assert block_size(case_of("deepseek-v2-lite", flash)) == 64
    assert block_size(case_of("deepseek-v2-lite", Settings(attention_backend="CUTLASS_MLA"))) == 128
    assert block_size(case_of("deepseek-v2-lite")) == 16
    assert block_size(case_of("deepseek-v2-lite", replace(flash, block_size=32))) == 32
    assert block_size(case_of("llama3.1-8b", flash)) == 16


def test_half_windows_are_two_groups() -> None:
    found = pool("gemma2-9b", Settings(max_num_batched_tokens=16384))
    assert sorted(kinds(found)) == [(21, "full"), (21, "sliding")]
    assert found.block_bytes == 21 * 16 * 2 * 8 * 256 * 2
    assert found.request_blocks(8192) == 512 + 513


def test_rare_full_layers_set_the_size_of_a_group() -> None:
    found = pool("gemma-3-4b")
    assert kinds(found).count((5, "full")) == 1
    assert len(found.groups) == 7


def test_without_the_hybrid_manager_windows_count_as_full() -> None:
    for version, settings in (
        ("0.25.1", Settings(hybrid_kv_cache=False)),
        ("0.8.5", Settings()),
        ("0.7.3", Settings()),
    ):
        found = pool("gemma2-9b", settings, version)
        assert kinds(found) == [(42, "full")]


def test_all_windows_stay_windows_in_v1() -> None:
    assert kinds(pool("mistral-7b-v0.1", Settings(hybrid_kv_cache=False))) == [(32, "sliding")]
    assert kinds(pool("mistral-7b-v0.1", version="0.6.3")) == [(32, "full")]


def test_windows_hold_what_is_in_flight_from_0_26_on() -> None:
    settings = Settings(max_num_batched_tokens=8192)
    assert pool("gemma2-9b", settings, "0.25.1").in_flight == 8192
    assert pool("gemma2-9b", settings, "0.26.0").in_flight == 16384
    synchronous = replace(settings, async_scheduling=False)
    assert pool("gemma2-9b", synchronous, "0.33.0").in_flight == 8192
    staged = replace(settings, pipeline_parallel_size=2)
    assert pool("gemma2-9b", staged, "0.33.0").in_flight == 3 * 8192


def test_the_slack_of_groups_changes_with_the_release() -> None:
    layers = (*[Layer("full")] * 10, *[Layer("sliding", 512)] * 13)
    model = replace(read_model("llama3.1-8b"), layers=layers)
    assert len(pool(model, version="0.25.1").groups) == 2
    assert len(pool(model, version="0.14.0").groups) == 3
    assert len(pool(model, version="0.10.2").groups) == 3


@pytest.mark.parametrize(
    ("name", "block"), [("qwen3-next-80b-a3b", 544), ("granite-4.0-h-tiny", 400)]
)
def test_hybrid_models_raise_the_block(name: str, block: int) -> None:
    """The sizes that vLLM logs behind `Setting attention block size to`."""
    found = pool(name)
    assert found.groups[0].spec.block == block
    assert {group.spec.page for group in found.groups} == {found.groups[0].spec.page}


def test_states_take_one_block_or_two_with_prefix_caching() -> None:
    assert pool("jamba-v0.1").state_blocks == 1
    assert pool("jamba-v0.1", Settings(enable_prefix_caching=True)).state_blocks == 2
    assert pool("jamba-v0.1", version="0.33.0").state_blocks == 2


def test_state_bytes_by_dtype_and_rank() -> None:
    model = replace(read_model("jamba-v0.1"), state=State(1000, 2000, "float32"))
    assert state_bytes(case_of(model)) == 1000 * 2 + 2000 * 4
    assert state_bytes(case_of(model, Settings(tensor_parallel_size=4))) == 2500
    assert state_bytes(case_of("llama3.1-8b")) == 0


def test_layers_that_share_keep_nothing() -> None:
    model = read_model("llama3.1-8b")
    shared = tuple(
        layer._replace(shares_kv=index >= 20) for index, layer in enumerate(model.layers)
    )
    assert pool(replace(model, layers=shared)).groups[0].layers == 20
    nothing = replace(model, layers=(Layer("none"),) * 4)
    assert pool_of(case_of(nothing)) is None


def test_layers_of_other_sizes_are_padded_to_one_page() -> None:
    layers = (Layer("full", head_dim=256, kv_heads=4), Layer("sliding", 1024, 8, 64)) * 6
    found = pool(replace(read_model("llama3.1-8b"), layers=layers))
    assert {group.spec.page for group in found.groups} == {16 * 2 * 4 * 256 * 2}
    assert {group.spec.block for group in found.groups} == {16, 32}


def test_a_checkpoint_may_ask_for_an_fp8_cache() -> None:
    model = read_model("llama3.1-8b")
    scheme = {"kv_cache_scheme": {"num_bits": 8, "type": "float"}}
    for details in (scheme, {"kv_cache_quant_algo": "FP8"}):
        asking = replace(model, quantization=Quantization("compressed-tensors", details=details))
        assert layer_token_bytes(case_of(asking), Layer("full")) == 2048
        explicit = Settings(kv_cache_dtype="bfloat16")
        assert layer_token_bytes(case_of(asking, explicit), Layer("full")) == 4096


def test_a_cache_type_without_a_size_is_a_usage_error() -> None:
    case = case_of("llama3.1-8b", Settings(kv_cache_dtype="ultraquant_4bit"), "0.33.0")
    with pytest.raises(UsageError, match="ultraquant_4bit"):
        pool_of(case)


def test_needs_by_release() -> None:
    groups = (Group(Spec("full", None, 16, 100), 4), Group(Spec("sliding", 32, 16, 100), 2))
    made = Pool(
        groups=groups,
        block_bytes=400,
        token_bytes=0,
        in_flight=16,
        state_blocks=1,
        capacity={"needs": "groups", "counts": "requests", "hybrid": True},
    )
    assert made.request_blocks(160) == 10 + 4
    assert made.needed(160) == 14 * 400
    first = replace(made, capacity={"needs": "first group", "counts": "blocks"})
    assert first.needed(160) == 10 * 400
    layers = replace(made, capacity={"needs": "layers", "counts": "blocks"})
    assert layers.needed(160) == 4 * 1000 + 2 * 400
    assert made.tokens(140, 160) == 1600
    assert layers.tokens(140, 160) == 70 * 16


@given(
    length=st.integers(1, 10**6),
    window=st.integers(1, 10**5),
    flight=st.integers(1, 10**5),
    available=st.integers(0, 10**9),
    kind=st.sampled_from(["full", "sliding", "chunked", "state"]),
)
def test_the_longest_is_the_last_that_fits(
    length: int, window: int, flight: int, available: int, kind: str
) -> None:
    made = Pool(
        groups=(Group(Spec(kind, window, 16, 4096), 8),),
        block_bytes=8 * 4096,
        token_bytes=8 * 256,
        in_flight=flight,
        state_blocks=2,
        capacity={"needs": "groups", "counts": "requests", "hybrid": True},
    )
    longest = made.longest(available, length)
    assert 0 <= longest <= length
    assert longest == 0 or made.needed(longest) <= available
    assert longest == length or made.needed(longest + 1) > available


@given(value=st.integers(0, 10**12), step=st.integers(1, 10**6))
def test_ceil(value: int, step: int) -> None:
    assert (ceil(value, step) - 1) * step < value <= ceil(value, step) * step or value == 0


def test_latent_attention_that_vllm_runs_as_any_other_keeps_whole_heads() -> None:
    body = {
        "architectures": ["MiniCPM3ForCausalLM"], "model_type": "minicpm3", "hidden_size": 2560,
        "num_hidden_layers": 62, "num_attention_heads": 40, "num_key_value_heads": 40,
        "intermediate_size": 6400, "vocab_size": 73448, "max_position_embeddings": 32768,
        "torch_dtype": "bfloat16", "kv_lora_rank": 256, "q_lora_rank": 768,
        "qk_nope_head_dim": 64, "qk_rope_head_dim": 32,
    }  # fmt: skip
    model = parse_config(json.dumps(body), "minicpm3")
    found = plan(model, GPU, Settings(max_model_len=4096), "0.25.1", tables=TABLES)
    assert found.kv_bytes_per_token == 62 * 40 * 96 * 2 * 2
