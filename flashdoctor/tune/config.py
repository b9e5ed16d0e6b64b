"""From config.json to a model. Pure, and no code of the model ever runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flashdoctor.errors import InputError
from flashdoctor.model.llm import Model, Task
from flashdoctor.tune.fields import Fields
from flashdoctor.tune.mixers import read_state
from flashdoctor.tune.quantization import read_quantization
from flashdoctor.tune.shape import Shape, read_shape, text_part
from flashdoctor.tune.tensors import Builder
from flashdoctor.tune.vision import has_vision
from flashdoctor.tune.weights import estimate_weights

DEFAULT_POSITIONS = 2048
"""What vLLM takes where a config names no length (config/model.py, _get_and_verify_max_len)."""

_LENGTHS = (
    "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length",
    "max_target_positions", "max_sequence_length", "max_seq_length", "seq_len",
)  # fmt: skip
_OWN_LENGTH = frozenset({"su", "longrope", "llama3", "mrope", "default"})
"""RoPE types whose config states the stretched length itself."""

_DTYPES: Mapping[str, str] = {"half": "float16", "float": "float32"}
_ENCODERS = ("ForMaskedLM", "ForSequenceClassification", "BertModel", "RobertaModel")


def parse_config(text: str, name: str = "model", where: str = "config.json") -> Model:
    """Read the text of a config.json; `InputError` where it describes no language model."""
    try:
        body: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{where} is no JSON") from None
    if not isinstance(body, dict):
        raise InputError(f"{where} is no JSON object")
    return read_config(body, name, where)


def read_config(body: Mapping[str, Any], name: str = "model", where: str = "config.json") -> Model:
    """Read a config that was parsed already."""
    outer = Fields(body, where)
    fields = text_part(body, where)
    shape = read_shape(fields)
    quantization = read_quantization(fields)
    dtype = _dtype(fields)
    weights = estimate_weights(shape, outer, Builder(quantization=quantization), dtype)
    names = outer.texts("architectures") or fields.texts("architectures")
    return Model(
        name=name,
        architecture=names[0] if names else "",
        model_type=outer.text("model_type") or shape.model_type,
        hidden=shape.hidden,
        layers=shape.layers,
        heads=shape.heads,
        kv_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        v_head_dim=shape.v_head_dim,
        intermediate=shape.intermediate,
        vocab=shape.vocab,
        tied=shape.tied,
        dtype=dtype,
        max_positions=max_positions(fields),
        weights=weights,
        mla=shape.mla,
        moe=shape.moe,
        state=read_state(shape),
        sliding_window=_window(shape),
        quantization=quantization,
        task=_task(outer, names),
        vision=has_vision(outer),
        softcap=fields.number("attn_logit_softcapping"),
        sinks=shape.model_type == "gpt_oss",
        alibi=shape.family.alibi or fields.flag("alibi"),
        custom_code=bool(outer.get("auto_map")),
    )


def _dtype(fields: Fields) -> str | None:
    name = (fields.text("torch_dtype", "dtype") or "").removeprefix("torch.")
    return _DTYPES.get(name, name) or None


def _window(shape: Shape) -> int | None:
    return next((layer.window for layer in shape.layers if layer.kind == "sliding"), None)


def _task(outer: Fields, names: tuple[str, ...]) -> Task:
    if outer.flag("is_encoder_decoder"):
        return "encoder-decoder"
    return "encode" if any(word in name for name in names for word in _ENCODERS) else "generate"


def max_positions(fields: Fields) -> int:
    """Return the longest context that vLLM derives: the smallest length, times RoPE's factor.

    vLLM 0.25 config/model.py _get_and_verify_max_len. Gemma 3 states its stretched length, and
    model_max_length (Command R) is believed before anything else.
    """
    stated = [fields.whole(name, least=1) for name in _LENGTHS]
    known = [length for length in stated if length is not None]
    if not known:
        return DEFAULT_POSITIONS
    length = fields.whole("model_max_length", least=1) or min(known)
    scaling = fields.part("rope_scaling", "rope_parameters") or Fields({})
    kind = scaling.text("rope_type", "type")
    factor = scaling.number("factor")
    if "gemma3" in (fields.text("model_type") or "") or kind in _OWN_LENGTH or not factor:
        return length
    if kind == "yarn":
        length = scaling.whole("original_max_position_embeddings", least=1) or length
    return max(1, int(length * factor))
