"""The sizes in a config.json under one name each, whatever a family calls them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashdoctor.errors import InputError
from flashdoctor.model.llm import KEEPS_KV, MLA, Layer, MoE
from flashdoctor.tune.families import DEFAULTS, MULTI_QUERY, Family, family_of
from flashdoctor.tune.fields import Fields
from flashdoctor.tune.layers import MOST_LAYERS, read_layers

_MOST_HEADS = 1 << 20
_CARRIED = (
    "quantization_config", "compression_config", "tie_word_embeddings", "torch_dtype", "dtype",
    "vocab_size",
)  # fmt: skip
_GEMMA_LIKE = frozenset({"gemma", "gemma2", "gemma3", "gemma3n", "gemma4"})
_GPT_WIDE = frozenset({
    "gpt2", "gpt_bigcode", "falcon", "bloom", "gptj", "mpt", "gpt_neox", "codegen",
})  # fmt: skip
"""Their MLP is four times the hidden width where the config is silent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A decoder's sizes. `expert_layers`: indexes of those with routed experts."""

    fields: Fields
    model_type: str
    family: Family
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int
    intermediate: int
    vocab: int
    tied: bool
    layers: tuple[Layer, ...]
    mla: MLA | None
    moe: MoE | None
    expert_layers: frozenset[int]


def text_part(config: Mapping[str, Any], where: str = "config.json") -> Fields:
    """Return the part of a config that describes the language model, its defaults filled in.

    Vision and audio models keep it in `text_config` or the like; what only stands outside of it
    (quantization, dtype, tied embeddings) is carried over.
    """
    outer = Fields(config, where)
    inner = outer.part(
        "text_config", "llm_config", "language_config", "thinker_config", "language_model_config"
    )
    if inner is None:
        return _flat(outer, {})
    if inner.get("text_config") is not None:
        return text_part(inner.body, inner.where)
    carried = {key: config[key] for key in _CARRIED if config.get(key) is not None}
    fields = Fields({**carried, **_given(inner.body)}, inner.where)
    return _flat(fields, DEFAULTS.get(type_of(fields), {}))


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if value is not None}


def _flat(fields: Fields, defaults: Mapping[str, Any]) -> Fields:
    nested: dict[str, Any] = {}
    for name in ("attn_config", "ffn_config"):
        part = fields.part(name)
        nested.update(part.body if part else {})
    return Fields({**defaults, **nested, **_given(fields.body)}, fields.where)


def type_of(fields: Fields) -> str:
    """Return the model type without the ending that marks the text part of a vision model."""
    return (fields.text("model_type") or "").removesuffix("_text")


_WHOLE_CACHE = frozenset({"minicpm3"})
"""Latent attention that vLLM runs as any other: not in is_deepseek_mla of 0.25.1."""


def read_shape(fields: Fields) -> Shape:
    """Return the sizes; `InputError` where one is missing without which nothing can be said."""
    model_type = type_of(fields)
    family = family_of(model_type)
    hidden = fields.needed("hidden_size", "n_embd", "d_model", "n_embed", "dim")
    count = fields.needed(
        "num_hidden_layers", "n_layer", "n_layers", "num_layers", most=MOST_LAYERS
    )
    layers = read_layers(fields, model_type, count)
    heads = _heads(fields, layers)
    width = _head_dim(fields, model_type, hidden, heads)
    mla = read_mla(fields, model_type, hidden // heads if heads else 0)
    moe, expert_layers = _moe(fields, model_type, count)
    return Shape(
        fields=fields,
        model_type=model_type,
        family=family,
        hidden=hidden,
        heads=heads,
        kv_heads=_kv_heads(fields, model_type, heads),
        head_dim=mla.qk_nope + mla.qk_rope if mla else width,
        v_head_dim=mla.v_head if mla else width,
        intermediate=_intermediate(fields, model_type, hidden),
        vocab=fields.needed("padded_vocab_size", "vocab_size"),
        tied=fields.flag("tie_word_embeddings", default=family.tied),
        layers=layers,
        mla=mla,
        moe=moe,
        expert_layers=expert_layers,
    )


def _heads(fields: Fields, layers: tuple[Layer, ...]) -> int:
    if all(layer.kind not in KEEPS_KV for layer in layers):
        return fields.whole("num_attention_heads", most=_MOST_HEADS) or 0
    return fields.needed("num_attention_heads", "n_head", "n_heads", most=_MOST_HEADS)


def _kv_heads(fields: Fields, model_type: str, heads: int) -> int:
    if model_type in MULTI_QUERY and not fields.flag("new_decoder_architecture"):
        many = fields.flag("multi_query", default=True)
        return min(1, heads) if many else heads
    if model_type == "chatglm" and not fields.flag("multi_query_attention"):
        return heads
    given = fields.whole(
        "num_key_value_heads", "num_kv_heads", "multi_query_group_num", "kv_n_heads", "n_head_kv",
        "num_key_value_groups_heads", least=1, most=_MOST_HEADS,
    )  # fmt: skip
    if given is not None and heads and given > heads:
        raise InputError(f"{fields.where}: {given} KV heads are more than {heads} heads")
    return min(given or heads, heads)


def _head_dim(fields: Fields, model_type: str, hidden: int, heads: int) -> int:
    if not heads:
        return 0
    name = "attention_head_dim" if model_type == "nemotron_h" else "head_dim"
    given = fields.whole(
        name, "head_dim", "kv_channels", "attention_head_dim", least=1, most=1 << 16
    )
    if given is None and model_type in _GEMMA_LIKE:
        return 256
    return given or max(1, hidden // heads)


def _intermediate(fields: Fields, model_type: str, hidden: int) -> int:
    found = fields.whole(
        "intermediate_size_mlp", "intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim",
        "ffn_hidden_dim",
    )  # fmt: skip
    if found is not None:
        return found
    ratio = fields.number("expansion_ratio")
    if ratio:
        return int(ratio * hidden)
    return 4 * hidden if model_type in _GPT_WIDE else 0


def read_mla(fields: Fields, model_type: str = "", usual: int = 0) -> MLA | None:
    """Return the sizes of latent attention, None where the model has none.

    `usual` is the width of a head where the model's class fills in that of the values.
    """
    rank = fields.whole("kv_lora_rank", least=1)
    if rank is None:
        return None
    whole = model_type in _WHOLE_CACHE
    return MLA(
        kv_lora_rank=rank,
        qk_rope=fields.needed("qk_rope_head_dim"),
        qk_nope=fields.whole("qk_nope_head_dim") or 0,
        v_head=fields.whole("v_head_dim") or usual if whole else fields.needed("v_head_dim"),
        q_lora=fields.whole("q_lora_rank", least=1),
        indexer_head_dim=fields.whole("index_head_dim", least=1),
        compressed=not whole,
    )


def _moe(fields: Fields, model_type: str, count: int) -> tuple[MoE | None, frozenset[int]]:
    experts = fields.whole(
        "num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts", most=1 << 16
    )
    if not experts or experts == 1:
        return None, frozenset()
    width = fields.needed(
        "moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size", "ffn_hidden_size"
    )
    layers = frozenset(i for i in range(count) if _has_experts(fields, model_type, i))
    moe = MoE(
        experts=experts,
        per_token=fields.whole(
            "num_experts_per_tok", "moe_top_k", "num_experts_per_token", "moe_k",
            "num_selected_experts", "top_k_experts", least=1,
        ) or 1,
        intermediate=width,
        shared=_shared_width(fields, model_type, width),
        dense=count - len(layers),
    )  # fmt: skip
    return moe, layers


def _shared_width(fields: Fields, model_type: str, width: int) -> int:
    given = fields.whole(
        "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
        "shared_intermediate_size",
    )  # fmt: skip
    shared = fields.whole(
        "n_shared_experts", "num_shared_experts", "moe_num_shared_experts", most=1 << 16
    )
    if model_type == "llama4":
        return width
    if given is not None:
        return given * (shared or 1) if model_type == "nemotron_h" else given
    return (shared or 0) * width


def _has_experts(fields: Fields, model_type: str, index: int) -> bool:  # noqa: PLR0911 - one answer for each way of saying it
    pattern = fields.get("hybrid_override_pattern")
    blocks = fields.get("layers_block_type")
    if isinstance(pattern, str):
        return pattern[index : index + 1] == "E"
    if model_type == "nemotron_h" and isinstance(blocks, list):
        return blocks[index : index + 1] == ["moe"]
    listed = fields.listed("moe_layers", "moe_layers_enum")
    if listed:
        return index in listed
    if model_type == "llama4":
        return (index + 1) % (fields.whole("interleave_moe_layer_step", least=1) or 1) == 0
    if model_type == "jamba":
        offset = fields.whole("expert_layer_offset")
        return (index - (1 if offset is None else offset)) % (
            fields.whole("expert_layer_period", least=1) or 2
        ) == 0
    first = fields.whole("first_k_dense_replace", "moe_layer_start_index") or 0
    if index < first or index in (fields.listed("mlp_only_layers") or ()):
        return False
    frequency = fields.get("moe_layer_freq")
    if isinstance(frequency, list):
        return bool(frequency[index : index + 1] == [1])
    if isinstance(frequency, int) and frequency > 1:
        return index % frequency == 0
    return (index + 1) % (fields.whole("decoder_sparse_step", least=1) or 1) == 0
