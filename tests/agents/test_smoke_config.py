from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

part: Any = importlib.import_module("flashdoctor.agents.smoke_config")

SHAPE = {"batch": 2, "q_len": 64, "kv_len": 4096, "heads": 16, "kv_heads": 4, "head_dim": 128}
LLAMA_3 = {
    "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "num_hidden_layers": 32, "intermediate_size": 14336,
    "vocab_size": 128256, "max_position_embeddings": 131072, "rope_theta": 500000.0,
    "bos_token_id": 128000, "eos_token_id": [128001, 5], "torch_dtype": "bfloat16",
}  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=12,
)
KEYS = st.sampled_from(
    ["num_hidden_layers", "layer_types", "vocab_size", "pad_token_id", "intermediate_size",
     "hidden_size", "text_config", "auto_map", "quantization_config", "n_layer"]
)  # fmt: skip


def test_a_llama_has_the_heads_of_the_shape() -> None:
    config = part.llama(SHAPE, "bfloat16")
    heads = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
    assert heads == (16, 4, 128)
    assert config["hidden_size"] == 16 * 128
    assert config["num_hidden_layers"] == 2
    assert config["max_position_embeddings"] > 4096


def test_depth_vocabulary_and_width_shrink_and_attention_stays() -> None:
    config, changed = part.cut(LLAMA_3)
    assert changed == [
        "bos_token_id", "eos_token_id", "initializer_range", "intermediate_size",
        "num_hidden_layers", "vocab_size",
    ]  # fmt: skip
    assert config["num_hidden_layers"] == 2
    assert config["eos_token_id"] == [5]
    assert config["bos_token_id"] is None
    kept = ("hidden_size", "num_attention_heads", "num_key_value_heads", "rope_theta")
    assert all(config[key] == LLAMA_3[key] for key in kept)


def test_layers_of_two_kinds_are_both_kept() -> None:
    kinds = ["sliding_attention"] * 5 + ["full_attention"] + ["sliding_attention"] * 5
    source = {"num_hidden_layers": 11, "layer_types": kinds, "rates": list(range(11))}
    config, _ = part.cut(source)
    assert config["layer_types"] == ["sliding_attention", "full_attention"]
    assert config["rates"] == [0, 5]
    assert config["num_hidden_layers"] == 2


def test_the_text_model_is_taken_out_of_one_of_several_kinds() -> None:
    inner = {"model_type": "gemma3_text", "num_hidden_layers": 34, "head_dim": 256}
    outer = {"model_type": "gemma3", "text_config": inner, "vision_config": {"hidden_size": 1152}}
    config, changed = part.cut(outer)
    assert config["model_type"] == "gemma3_text"
    assert config["head_dim"] == 256
    assert "text_config" in changed
    assert "vision_config" not in config


def test_a_text_model_that_says_no_depth_gets_one() -> None:
    inner = {"model_type": "llama", "vocab_size": 32064}
    config, changed = part.cut({"model_type": "llava", "image_token_index": 32000,
                                "text_config": inner})  # fmt: skip
    assert (config["model_type"], config["num_hidden_layers"]) == ("llama", 2)
    assert {"num_hidden_layers", "text_config", "vocab_size"} <= set(changed)
    assert "image_token_index" not in config


def test_what_only_a_checkpoint_needs_is_dropped() -> None:
    source = {**LLAMA_3, "quantization_config": {"quant_method": "fp8"}}
    config, changed = part.cut(source)
    assert "quantization_config" not in config
    assert "quantization_config" in changed


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("n_layer", 12, 2),
        ("num_hidden_layers", 1, 1),
        ("vocab_size", 500, 500),
        ("moe_intermediate_size", 2048, 1024),
        ("intermediate_size", [8192, 512], [1024, 512]),
        ("n_inner", None, None),
        ("image_token_index", 262144, 1023),
        ("eos_token_id", 128001, None),
        ("audio_token_id", None, None),
        ("pad_token_id", 0, 0),
    ],
)
def test_shrinks_one_key(key: str, value: object, wanted: object) -> None:
    assert part.shrink(key, value, 12, [0, 1]) == wanted


@given(st.dictionaries(KEYS | st.text(max_size=9), JSON))
def test_any_object_is_cut_and_cutting_again_changes_nothing(source: dict[str, Any]) -> None:
    once, _ = part.cut(source)
    again, _ = part.cut(once)
    assert json.dumps(again, sort_keys=True) == json.dumps(once, sort_keys=True)


def test_reads_what_it_wrote_and_refuses_what_is_no_object(tmp_path: Path) -> None:
    part.write(str(tmp_path), LLAMA_3)
    assert part.read(str(tmp_path)) == LLAMA_3
    (tmp_path / "config.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(ValueError, match="no object"):
        part.read(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        part.read(str(tmp_path / "nowhere"))


def test_copies_a_models_own_code_and_nothing_else(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.mkdir()
    target.mkdir()
    (source / "modeling_x.py").write_text("X = 1\n", encoding="utf-8")
    (source / "model.safetensors").write_text("weights", encoding="utf-8")
    part.copy_code(str(source), str(target))
    assert [path.name for path in target.iterdir()] == ["modeling_x.py"]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ({"full_attention_interval": 4, "num_hidden_layers": 48}, {"full_attention_interval": 2}),
        ({"attn_layer_period": 8, "attn_layer_offset": 4, "num_hidden_layers": 32},
         {"attn_layer_period": 2, "attn_layer_offset": 1}),
    ],
)  # fmt: skip
def test_one_of_two_layers_has_attention(source: dict[str, Any], wanted: dict[str, int]) -> None:
    config, _ = part.cut({"model_type": "hybrid", **source})
    assert wanted.items() <= config.items()
