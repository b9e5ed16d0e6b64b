# ruff: noqa: PTH118, PTH123, PTH208 - os.path serves; the rest of pathlib is not needed
"""Agent part: a model's config.json cut to two layers, so that random weights fit anywhere.

Heads, head size, position encoding and every other key that decides about attention stay as they
are; depth, vocabulary and the width of the MLPs shrink. Pure, except for the two that say so.
"""

from __future__ import annotations

import json
import os
import re

LAYERS = 2
VOCABULARY = 1024
WIDTH = 1024

_DEPTHS = (
    "num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers",
    "encoder_layers", "decoder_layers",
)  # fmt: skip
_KINDS = ("layer_types", "layers_block_type", "attention_layers")
_PERIODS = ("full_attention_interval", "attn_layer_period")  # each so manieth layer has attention
_OFFSETS = ("attn_layer_offset",)
_HIDDEN = ("hidden_size", "n_embd", "d_model")
_WIDE = re.compile(r"(?:^|_)(?:intermediate_size|ffn_dim|n_inner|ffn_hidden_size|d_ff)$")
_TOKEN = re.compile(r"_token_(?:id|ids|index)$")
_MARKER = re.compile(r"^(?:bos|eos|pad|unk|sep|cls|mask|decoder_start)_")  # a model may lack these
# A checkpoint's own format means nothing to random weights.
_DROPPED = ("quantization_config", "compression_config")
# Logits then vary by about 1, so that an error in the scores is seen in the output.
_SPREAD = 1.1


def llama(shape: dict, dtype: str) -> dict:
    """Return the config.json of a two-layer Llama with the heads of a shape."""
    hidden = shape["heads"] * shape["head_dim"]
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "hidden_size": hidden, "head_dim": shape["head_dim"],
        "num_attention_heads": shape["heads"], "num_key_value_heads": shape["kv_heads"],
        "num_hidden_layers": LAYERS, "intermediate_size": hidden, "vocab_size": VOCABULARY,
        "max_position_embeddings": max(2048, shape["kv_len"] + 64), "rms_norm_eps": 1e-5,
        "hidden_act": "silu", "tie_word_embeddings": False, "torch_dtype": dtype,
        "bos_token_id": 1, "eos_token_id": 2, "initializer_range": _SPREAD / hidden**0.5,
    }  # fmt: skip


def read(folder: str) -> dict:
    """Return the config.json of a model's folder; OSError, ValueError where there is none."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    if not isinstance(config, dict):
        raise ValueError("config.json holds no object")  # noqa: TRY004 - to the caller it is one more file that is no config
    return config


def write(folder: str, config: dict) -> None:
    """Write a config.json into a folder."""
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)


def cut(config: dict) -> tuple:
    """Return (config of two layers, names of the keys that changed)."""
    source = language_part(config)
    result = dict(source)
    kept = kept_layers(source)
    depth = depth_of(source)
    if depth is None:  # the model's own default stands nowhere
        result["num_hidden_layers"] = LAYERS
    for key, value in source.items():
        result[key] = shrink(key, value, depth, kept)
    for key in _DROPPED:
        result.pop(key, None)
    result.setdefault("pad_token_id", None)
    result.setdefault("vocab_size", VOCABULARY)
    hidden = first(source, _HIDDEN)
    if isinstance(hidden, int) and hidden > 0:
        result["initializer_range"] = _SPREAD / hidden**0.5
    changed = {key for key in {*source, *result} if source.get(key) != result.get(key)}
    return result, sorted(changed if source is config else {*changed, "text_config"})


def language_part(config: dict) -> dict:
    """Return the text model's config where a model of several kinds nests it, else the config."""
    inner = config.get("text_config")
    is_model = isinstance(inner, dict) and (depth_of(inner) is not None or "model_type" in inner)
    if depth_of(config) is None and is_model:
        return dict(inner, auto_map=config["auto_map"]) if "auto_map" in config else inner
    return config


def first(config: dict, names: tuple) -> object:
    """Return the value of the first of these keys that is there."""
    return next((config[name] for name in names if name in config), None)


def depth_of(config: dict) -> object:
    """Return the number of layers, None where no key says it."""
    value = first(config, _DEPTHS)
    return value if isinstance(value, int) and value > 0 else None


def kept_layers(config: dict) -> list:
    """Return the numbers of the two layers to keep: of two kinds, where layers differ in kind."""
    kinds = first(config, _KINDS)
    depth = depth_of(config)
    if not isinstance(kinds, list) or len(kinds) != depth:
        return list(range(min(LAYERS, depth or LAYERS)))
    seen = {}  # type: dict
    for number, kind in enumerate(kinds):
        seen.setdefault(str(kind), number)
    chosen = sorted(seen.values())[:LAYERS]
    rest = [number for number in range(len(kinds)) if number not in chosen]
    return sorted(chosen + rest[: LAYERS - len(chosen)])


def shrink(key: str, value: object, depth: object, kept: list) -> object:
    """Return the value of one key in the cut config."""
    if key in (*_DEPTHS, *_PERIODS) and isinstance(value, int):
        return min(value, LAYERS)
    if key in _OFFSETS and isinstance(value, int):
        return min(value, LAYERS - 1)
    if isinstance(value, list) and depth is not None and len(value) == depth > LAYERS:
        value = [value[number] for number in kept]
    if key == "vocab_size" and isinstance(value, int):
        return min(value, VOCABULARY)
    if _WIDE.search(key):
        return narrow(value)
    if _TOKEN.search(key):
        token = known_token(value)
        is_number = isinstance(value, int) and not _MARKER.search(key)
        return VOCABULARY - 1 if token is None and is_number else token
    return value


def narrow(value: object) -> object:
    """Return a width, or a list of widths, of at most `WIDTH`."""
    if isinstance(value, list):
        return [narrow(item) for item in value]
    return min(value, WIDTH) if isinstance(value, int) else value


def known_token(value: object) -> object:
    """Return a token of the cut vocabulary, None for one that it no longer holds."""
    if isinstance(value, list):
        inside = [item for item in value if known_token(item) is not None]
        return inside or None
    return value if isinstance(value, int) and 0 <= value < VOCABULARY else None


def copy_code(source: str, folder: str) -> None:
    """Copy a model's own Python files beside its cut config."""
    import shutil

    for name in os.listdir(source):
        if name.endswith(".py"):
            shutil.copyfile(os.path.join(source, name), os.path.join(folder, name))
