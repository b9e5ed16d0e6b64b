"""What kind each layer of a model is, from the many ways in which configs say it.

Sources: the configuration classes of transformers 4.57 and the model files of vLLM 0.25, which take
`layer_types` where it stands and else a pattern by family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flashdoctor.errors import InputError
from flashdoctor.model.llm import Layer, LayerKind
from flashdoctor.tune.fields import Fields

MOST_LAYERS = 2048

_KINDS: Mapping[str, LayerKind] = {
    "full_attention": "full",
    "attention": "full",
    "full": "full",
    "global": "full",
    "hybrid": "full",
    "sliding_attention": "sliding",
    "sliding": "sliding",
    "local": "sliding",
    "chunked_attention": "chunked",
    "linear_attention": "linear",
    "mamba": "mamba",
    "mamba2": "mamba",
    "conv": "mamba",
    "recurrent": "linear",
    "moe": "none",
    "mlp": "none",
    "ffn": "none",
}
_PATTERN: Mapping[str, LayerKind] = {"M": "mamba", "*": "full", "-": "none", "E": "none"}
_EVERY: Mapping[str, int] = {"gemma3": 6, "cohere2": 4, "exaone4": 4, "gemma3n": 5, "gemma4": 6}
"""Every so manieth layer is full, the others slide."""

_LLAMA4_CHUNK = 8192


def read_layers(fields: Fields, model_type: str, count: int) -> tuple[Layer, ...]:
    """Return the layers of a decoder."""
    kinds = _kinds(fields, model_type, count)
    window = fields.whole("sliding_window", "window_size", "attention_window_size", least=1)
    chunk = fields.whole("attention_chunk_size", least=1)
    widths: Mapping[LayerKind, int | None] = {"sliding": window, "chunked": chunk or _LLAMA4_CHUNK}
    layers = [Layer(kind, widths.get(kind)) for kind in kinds]
    return tuple(_shared(fields, _differing(fields, layers)))


def _kinds(fields: Fields, model_type: str, count: int) -> list[LayerKind]:
    named = fields.listed("layer_types", "layers_block_type", "attn_type_list")
    if named:
        return [_kind(fields, item) for item in _to_length(fields, named, count)]
    pattern = fields.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:
        letters = pattern.replace("|", "")
        return [_PATTERN.get(letter, "none") for letter in _to_length(fields, letters, count)]
    rule = _RULES.get(model_type, _by_window)
    return [rule(fields, index, count) for index in range(count)]


def _to_length(fields: Fields, listed: object, count: int) -> list[Any]:
    items = list(listed) if isinstance(listed, (list, str)) else []
    if len(items) < count:
        raise InputError(f"{fields.where}: {len(items)} layers are listed, {count} are counted")
    return items[:count]


def _kind(fields: Fields, item: Any) -> LayerKind:
    if item in (0, 1):
        return "full" if item == 1 else "linear"  # MiniMax
    kind = _KINDS.get(item) if isinstance(item, str) else None
    if kind is None:
        raise InputError(f"{fields.where}: no kind of layer is called {str(item)[:60]!r}")
    if kind == "sliding" and fields.get("sliding_window", "attention_window_size") is None:
        return "full"
    return kind


def _by_window(fields: Fields, index: int, _count: int) -> LayerKind:
    """Slide in every layer where a window is set, as vLLM does for families without a pattern."""
    if not fields.whole("sliding_window", least=1) or not fields.flag(
        "use_sliding_window", default=True
    ):
        return "full"
    if fields.get("use_sliding_window") is None:
        return "sliding"
    return "sliding" if index >= (fields.whole("max_window_layers") or 0) else "full"


def _every_other(_fields: Fields, index: int, _count: int) -> LayerKind:
    return "full" if index % 2 else "sliding"


def _by_pattern(model_type: str) -> Callable[[Fields, int, int], LayerKind]:
    def rule(fields: Fields, index: int, _count: int) -> LayerKind:
        if fields.get("sliding_window") is None:
            return "full"
        pattern = fields.get("sliding_window_pattern", "_sliding_window_pattern")
        if isinstance(pattern, str) and pattern:
            return "sliding" if pattern[index % len(pattern)] == "L" else "full"
        every = pattern if isinstance(pattern, int) and pattern > 0 else _EVERY[model_type]
        return "sliding" if (index + 1) % every else "full"

    return rule


def _llama4(fields: Fields, index: int, _count: int) -> LayerKind:
    ropes = fields.listed("no_rope_layers")
    if ropes and index < len(ropes):
        return "chunked" if ropes[index] else "full"
    every = fields.whole("no_rope_layer_interval", least=1) or 4
    return "chunked" if (index + 1) % every else "full"


def _jamba(fields: Fields, index: int, _count: int) -> LayerKind:
    period = fields.whole("attn_layer_period", least=1) or 8
    offset = fields.whole("attn_layer_offset")
    return "full" if index % period == (4 if offset is None else offset) else "mamba"


def _linear_between(fields: Fields, index: int, _count: int) -> LayerKind:
    every = fields.whole("full_attention_interval", least=1) or 4
    return "linear" if (index + 1) % every else "full"


def _bamba(fields: Fields, index: int, _count: int) -> LayerKind:
    return "full" if index in (fields.listed("attn_layer_indices") or ()) else "mamba"


_RULES: Mapping[str, Callable[[Fields, int, int], LayerKind]] = {
    "gemma2": _every_other,
    "gpt_oss": _every_other,
    **{name: _by_pattern(name) for name in _EVERY},
    "llama4": _llama4,
    "jamba": _jamba,
    "qwen3_next": _linear_between,
    "qwen3_5": _linear_between,
    "qwen3_5_moe": _linear_between,
    "bamba": _bamba,
    "mamba": lambda *_: "mamba",
    "mamba2": lambda *_: "mamba",
    "falcon_mamba": lambda *_: "mamba",
}


def _differing(fields: Fields, layers: list[Layer]) -> list[Layer]:
    """Note the heads of layers that have others than the model (Gemma 4, Nemotron NAS)."""
    blocks = fields.listed("block_configs")
    if blocks and len(blocks) >= len(layers):
        return [
            _nas_layer(fields, layer, block) for layer, block in zip(layers, blocks, strict=False)
        ]
    heads = fields.whole("num_global_key_value_heads", least=1)
    width = fields.whole("global_head_dim", least=1)
    return [
        layer._replace(kv_heads=heads, head_dim=width) if layer.kind == "full" else layer
        for layer in layers
    ]


def _nas_layer(fields: Fields, layer: Layer, block: object) -> Layer:
    attention = block.get("attention") if isinstance(block, dict) else None
    part = Fields(attention if isinstance(attention, dict) else {}, fields.where)
    if part.flag("no_op") or part.flag("replace_with_linear"):
        return Layer("none")
    in_group = part.whole("n_heads_in_group", least=1)
    heads = fields.whole("num_attention_heads", least=1)
    return layer._replace(kv_heads=heads // in_group if in_group and heads else None)


def _shared(fields: Fields, layers: list[Layer]) -> list[Layer]:
    """Note the last layers, which read the cache of earlier ones (Gemma 3n, Gemma 4)."""
    own = len(layers) - (fields.whole("num_kv_shared_layers") or 0)
    return [layer._replace(shares_kv=index >= own > 0) for index, layer in enumerate(layers)]
