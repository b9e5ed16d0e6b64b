from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.errors import InputError
from flashdoctor.model.llm import Layer, Model
from flashdoctor.tune.config import parse_config, read_config

MODELS = Path(__file__).resolve().parent.parent / "data" / "models"
LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 4,
    "vocab_size": 128256,
}


def load(name: str) -> Model:
    return parse_config((MODELS / name / "config.json").read_text(encoding="utf-8"), name)


def kinds(model: Model) -> dict[str, int]:
    return dict(Counter(layer.kind for layer in model.layers))


@pytest.mark.parametrize(
    ("name", "kv_heads", "head_dim"),
    [
        ("llama3.1-8b", 8, 128),
        ("qwen2.5-0.5b", 2, 64),
        ("phi-2", 32, 80),
        ("falcon-7b", 1, 64),
        ("falcon-40b", 8, 64),
        ("starcoder", 1, 128),
        ("chatglm-glm-4-9b", 2, 128),
        ("gemma-3-4b", 4, 256),
        ("llava-1.5-7b", 32, 128),
        ("gpt-oss-20b", 8, 64),
        ("codestral-mamba-7b", 0, 0),
    ],
)
def test_heads_by_any_name(name: str, kv_heads: int, head_dim: int) -> None:
    model = load(name)
    assert (model.kv_heads, model.head_dim) == (kv_heads, head_dim)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llama3.1-8b", {"full": 32}),
        ("mistral-7b-v0.1", {"sliding": 32}),
        ("phi-3-mini-4k", {"sliding": 32}),
        ("qwen2.5-0.5b", {"full": 24}),
        ("gemma2-9b", {"sliding": 21, "full": 21}),
        ("gemma-3-4b", {"sliding": 29, "full": 5}),
        ("gpt-oss-20b", {"sliding": 12, "full": 12}),
        ("llama-4-scout", {"chunked": 36, "full": 12}),
        ("qwen3-next-80b-a3b", {"linear": 36, "full": 12}),
        ("jamba-v0.1", {"mamba": 28, "full": 4}),
        ("granite-4.0-h-tiny", {"mamba": 36, "full": 4}),
        ("nemotron-nano-9b-v2", {"mamba": 27, "none": 25, "full": 4}),
        ("codestral-mamba-7b", {"mamba": 64}),
    ],
)
def test_kinds_of_layers(name: str, expected: dict[str, int]) -> None:
    assert kinds(load(name)) == expected


def test_windows_stand_on_the_layers_that_have_them() -> None:
    gemma, scout = load("gemma2-9b"), load("llama-4-scout")
    assert gemma.layers[:2] == (Layer("sliding", 4096), Layer("full"))
    assert gemma.sliding_window == 4096
    assert scout.layers[0] == Layer("chunked", 8192)
    assert load("qwen2.5-0.5b").sliding_window is None


@pytest.mark.parametrize(
    ("name", "longest"),
    [
        ("llama3.1-8b", 131072),
        ("deepseek-v2-lite", 163840),  # YaRN: 4096 * 40
        ("gpt-oss-20b", 131072),  # YaRN: 4096 * 32
        ("gemma-3-4b", 131072),  # states its stretched length; the class's default
        ("qwen2-vl-7b", 32768),
        ("gpt2", 1024),
        ("mpt-7b", 2048),
        ("chatglm-glm-4-9b", 131072),
        ("command-r-v01", 131072),  # model_max_length is believed first
        ("codestral-mamba-7b", 2048),  # states nothing
    ],
)
def test_the_longest_context_as_vllm_derives_it(name: str, longest: int) -> None:
    assert load(name).max_positions == longest


def test_linear_and_dynamic_rope_stretch_and_llama3_does_not() -> None:
    body = {**LLAMA, "max_position_embeddings": 4096}
    for kind, expected in (("linear", 8192), ("dynamic", 8192), ("llama3", 4096), ("su", 4096)):
        scaled = {**body, "rope_scaling": {"type": kind, "factor": 2.0}}
        assert read_config(scaled).max_positions == expected


def test_latent_attention() -> None:
    mla = load("deepseek-v3").mla
    assert mla is not None
    assert (mla.kv_lora_rank, mla.qk_rope, mla.qk_nope, mla.v_head, mla.q_lora) == (
        512, 64, 128, 128, 1536,
    )  # fmt: skip
    lite = load("deepseek-v2-lite")
    assert (lite.head_dim, lite.v_head_dim) == (192, 128)
    assert lite.mla is not None
    assert lite.mla.q_lora is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mixtral-8x7b", (8, 2, 14336, 0, 0)),
        ("qwen3-30b-a3b", (128, 8, 768, 0, 0)),
        ("deepseek-v2-lite", (64, 6, 1408, 2816, 1)),
        ("deepseek-v3", (256, 8, 2048, 2048, 3)),
        ("llama-4-scout", (16, 1, 8192, 8192, 0)),
        ("jamba-v0.1", (16, 2, 14336, 0, 16)),
        ("qwen1.5-moe-a2.7b", (60, 4, 1408, 5632, 0)),
        ("granite-4.0-h-tiny", (64, 6, 512, 1024, 0)),
    ],
)
def test_experts(name: str, expected: tuple[int, ...]) -> None:
    assert tuple(load(name).moe or ()) == expected


def test_the_state_of_mamba_layers() -> None:
    state = load("nemotron-nano-9b-v2").state
    assert state is not None
    assert state.state_elements == 128 * 80 * 128  # heads, their width, state size
    assert state.conv_elements == 3 * (128 * 80 + 2 * 8 * 128)
    assert load("llama3.1-8b").state is None


def test_vision_models_are_read_by_their_text_part() -> None:
    model = load("llava-1.5-7b")
    assert model.vision
    assert (model.hidden, len(model.layers), model.vocab) == (4096, 32, 32064)
    assert model.dtype == "float16"
    assert model.model_type == "llava"
    assert not load("llama3.1-8b").vision


def test_what_narrows_the_choice_of_kernel() -> None:
    assert load("gemma2-9b").softcap == 50.0
    assert load("gpt-oss-20b").sinks
    assert load("bloom-7b1").alibi
    assert load("phi-3-mini-4k").custom_code
    assert not load("llama3.1-8b").custom_code


def test_layers_that_differ_from_the_model() -> None:
    blocks = [
        {"attention": {"n_heads_in_group": 8}},
        {"attention": {"no_op": True}},
        {"attention": {"n_heads_in_group": 16}},
        {"attention": {"replace_with_linear": True}},
    ]
    model = read_config({**LLAMA, "model_type": "nemotron-nas", "block_configs": blocks})
    assert [layer.kind for layer in model.layers] == ["full", "none", "full", "none"]
    assert [model.layers[0].kv_heads, model.layers[2].kv_heads] == [4, 2]


def test_layers_that_share_the_cache_of_earlier_ones() -> None:
    model = read_config({**LLAMA, "num_kv_shared_layers": 2})
    assert [layer.shares_kv for layer in model.layers] == [False, False, True, True]


def test_qwen2_slides_only_from_max_window_layers_on() -> None:
    body = {**LLAMA, "model_type": "qwen2", "sliding_window": 4096, "max_window_layers": 3}
    assert kinds(read_config({**body, "use_sliding_window": True})) == {"full": 3, "sliding": 1}
    assert kinds(read_config({**body, "use_sliding_window": False})) == {"full": 4}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"num_hidden_layers": None}, "lacks num_hidden_layers"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers: expected a number from 1 to 2048"),
        ({"hidden_size": "big"}, "hidden_size: expected a whole number"),
        ({"hidden_size": True}, "hidden_size: expected a whole number"),
        ({"num_attention_heads": 0}, "num_attention_heads"),
        ({"num_key_value_heads": 64}, "64 KV heads are more than 32 heads"),
        ({"layer_types": ["full_attention"]}, "1 layers are listed, 4 are counted"),
        ({"layer_types": ["odd"] * 4}, "no kind of layer is called 'odd'"),
        ({"quantization_config": "awq"}, "quantization_config: expected an object"),
        ({"rope_scaling": 8}, "rope_scaling: expected an object"),
        ({"attn_logit_softcapping": float("inf")}, "attn_logit_softcapping"),
    ],
)
def test_mistakes_are_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_config({**LLAMA, **change})


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '"x"', "[" * 100_000, "\x00"])
def test_what_is_no_config_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"config\.json is no JSON"):
        parse_config(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = sorted(
    {key for path in MODELS.glob("*/config.json") for key in json.loads(path.read_text("utf-8"))}
)


@given(st.sampled_from(sorted(MODELS.glob("*/config.json"))), st.data())
def test_any_change_to_a_config_is_read_or_refused(path: Path, data: st.DataObject) -> None:
    body = json.loads(path.read_text(encoding="utf-8"))
    body.update(data.draw(st.dictionaries(st.sampled_from(NAMES), JSON, max_size=3)))
    try:
        model = read_config(body)
    except InputError:
        return
    assert model.weights.total_bytes >= 0
    assert 0 <= model.kv_heads <= max(model.heads, 0)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_config(text)
