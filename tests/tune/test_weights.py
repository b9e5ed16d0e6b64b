from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.llm import Model
from flashdoctor.tune.config import parse_config, read_config
from flashdoctor.tune.safetensors import Stored
from flashdoctor.tune.weights import (
    GIB,
    MIB,
    count_weights,
    rank_bytes,
    reserved_bytes,
)

TOML = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
MODELS = Path(__file__).resolve().parent.parent / "data" / "models"
SOURCES: list[dict[str, Any]] = TOML.loads((MODELS / "sources.toml").read_text("utf-8"))["model"]
TINY: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "vocab_size": 64,
    "torch_dtype": "bfloat16",
}


def load(name: str) -> Model:
    return parse_config((MODELS / name / "config.json").read_text(encoding="utf-8"), name)


def test_every_config_names_its_source() -> None:
    assert {row["name"] for row in SOURCES} == {
        path.parent.name for path in MODELS.glob("*/*.json")
    }
    assert all(row["source"].count("/") >= 1 for row in SOURCES)


@pytest.mark.parametrize("row", SOURCES, ids=lambda row: str(row["name"]))
def test_parameters_equal_the_published_ones(row: dict[str, Any]) -> None:
    counted = load(row["name"]).weights.parameters
    if "parameters" in row:
        assert counted == row["parameters"]
    else:
        assert round(counted / 1e9, 1) == row["billions"]


LOADED = {
    # vLLM 0.25.1 on one H200, "Model loading took N GiB".
    "qwen2.5-7b": 14.29,
    "llama3.1-8b": 15.0,
    "llama3.1-8b-fp8": 8.54,
    "qwen2.5-7b-awq": 5.38,
    "qwen3-30b-a3b": 56.88,
    "deepseek-v2-lite": 29.34,
    "gemma2-9b": 17.22,
    "mistral-7b-v0.1": 13.5,
}


@pytest.mark.parametrize(("name", "gib"), LOADED.items())
def test_what_loading_takes_is_what_vllm_measured(name: str, gib: float) -> None:
    assert rank_bytes(load(name)) / GIB == pytest.approx(gib, rel=0.01)


def test_the_lm_head_counts_unless_it_is_tied() -> None:
    tied, apart = load("qwen2.5-0.5b").weights, load("qwen2.5-7b").weights
    assert tied.lm_head_bytes == 0
    assert apart.lm_head_bytes == apart.embedding_bytes == 152064 * 3584 * 2


@pytest.mark.parametrize("name", ["llama3.1-8b", "qwen3-30b-a3b", "deepseek-v2-lite"])
def test_ranks_share_the_weights(name: str) -> None:
    model = load(name)
    whole = rank_bytes(model)
    for ranks in (2, 4, 8):
        assert whole / ranks <= rank_bytes(model, ranks) < whole / ranks * 1.2
    assert whole / 2 <= rank_bytes(model, 1, 2) < whole * 0.6


def test_kv_heads_are_copied_beyond_one_a_rank() -> None:
    model = read_config({**TINY, "num_key_value_heads": 1, "hidden_size": 4096, "head_dim": 1024})
    qkv = next(t for t in model.weights.tensors if t.name == "self_attn.qkv_proj")
    assert qkv.kv_bytes == 2 * 1024 * 4096 * 2
    assert rank_bytes(model, 4) > rank_bytes(model) / 4


@pytest.mark.parametrize(
    ("config", "bits"),
    [
        ({"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False}, 4.16),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, 8.0),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, 4.31),
        ({"load_in_4bit": True, "quant_method": "bitsandbytes"}, 4.5),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8.0),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {
                    "group_0": {
                        "weights": {
                            "num_bits": 4, "type": "int", "strategy": "group", "group_size": 128,
                            "symmetric": True,
                        }
                    }
                },
                "ignore": ["lm_head"],
            },
            4.125,
        ),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 4.5),
    ],
)  # fmt: skip
def test_bits_of_a_quantised_matrix(config: dict[str, Any], bits: float) -> None:
    body = {**TINY, "hidden_size": 4096, "intermediate_size": 16384, "num_attention_heads": 32}
    model = read_config({**body, "quantization_config": config})
    down = [t for t in model.weights.tensors if t.name.startswith("mlp.down_proj")]
    parameters = sum(tensor.parameters for tensor in down)
    assert sum(tensor.bytes for tensor in down) * 8 / parameters == pytest.approx(bits, abs=0.02)


def test_modules_that_the_method_leaves_alone() -> None:
    skip = [
        "model.layers.0.self_attn.q_proj",
        "re:.*down_proj$",
        "language_model.layers.1.mlp.up_proj",
    ]
    config = {"quant_method": "fp8", "ignored_layers": skip}
    tensors = read_config({**TINY, "quantization_config": config}).weights.tensors
    plain = {(t.layer, t.name) for t in tensors if t.parameters and t.bytes == 2 * t.parameters}
    assert {(0, "self_attn.qkv_proj"), (0, "mlp.down_proj"), (1, "mlp.gate_up_proj")} <= plain
    assert not {(1, "self_attn.qkv_proj"), (0, "mlp.gate_up_proj")} & plain


def test_mxfp4_packs_the_experts_only() -> None:
    tensors = load("gpt-oss-20b").weights.tensors
    packed = {t.group for t in tensors if t.parameters and t.bytes < 2 * t.parameters}
    assert packed == {"experts"}


# --- the allocator ---


def test_the_allocator_rounds_as_torch_does() -> None:
    assert reserved_bytes([1]) == 2 * MIB
    assert reserved_bytes([MIB // 2] * 4) == 2 * MIB
    assert reserved_bytes([2 * MIB]) == 20 * MIB
    assert reserved_bytes([5 * MIB] * 4) == 20 * MIB
    assert reserved_bytes([31 * MIB + 1]) == 32 * MIB
    assert reserved_bytes([]) == 0


@given(st.lists(st.integers(0, 64 * MIB), max_size=60))
def test_the_allocator_takes_no_less_than_asked_for(sizes: list[int]) -> None:
    reserved = reserved_bytes(sizes)
    assert reserved >= sum(sizes)
    assert reserved % (2 * MIB) == 0


# --- tensors in files ---


def stored(*shape: int, dtype: str = "BF16") -> Stored:
    width = {"BF16": 2, "F32": 4, "I32": 4, "F8_E4M3": 1}[dtype]
    size = width
    for side in shape:
        size *= side
    return Stored(dtype, shape, size)


def test_what_the_engine_does_not_load_is_left_out() -> None:
    model = read_config({**TINY, "tie_word_embeddings": True})
    tensors = {
        "model.embed_tokens.weight": stored(64, 64),
        "lm_head.weight": stored(64, 64),
        "model.layers.0.mlp.up_proj.weight": stored(128, 64),
        "model.layers.2.mlp.up_proj.weight": stored(128, 64),
        "mtp.fc.weight": stored(64, 64),
        "visual.blocks.layers.7.weight": stored(10, 10),
    }
    weights = count_weights(tensors, model.weights, model)
    assert weights.exact
    assert weights.total_bytes == (64 * 64 + 128 * 64 + 100) * 2
    assert weights.skipped_bytes == (64 * 64 * 2 + 128 * 64) * 2
    assert weights.embedding_bytes == 64 * 64 * 2
    assert weights.lm_head_bytes == 0


def test_float32_weights_are_cast_and_scales_are_not() -> None:
    model = read_config({**TINY, "torch_dtype": "float32"})
    tensors = {
        "model.layers.0.mlp.up_proj.weight": stored(10, 10, dtype="F32"),
        "model.layers.0.mlp.up_proj.weight_scale": stored(10, dtype="F32"),
        "model.layers.0.mlp.down_proj.weight": stored(10, 10, dtype="F8_E4M3"),
    }
    weights = count_weights(tensors, model.weights, model)
    assert dict(weights.by_dtype) == {"BF16": 200, "F32": 40, "F8_E4M3": 100}
    assert weights.parameters == 210


def test_exact_sizes_scale_what_a_rank_holds() -> None:
    model = load("llama3.1-8b")
    half = model.weights._replace(total_bytes=model.weights.total_bytes // 2, exact=True)
    from dataclasses import replace  # noqa: PLC0415 - needed by this test alone

    assert rank_bytes(replace(model, weights=half)) < rank_bytes(model) * 0.51
