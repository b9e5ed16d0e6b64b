"""What distinguishes model families and does not stand in their config.json.

Read from the model classes and configuration classes of transformers 4.57 and the files under
model_executor/models of vLLM 0.25. A model type without a row is taken for a Llama.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

QkNorm: TypeAlias = Literal["none", "head", "all"]


class Family(NamedTuple):
    """How the layers of a family are built.

    `norms`: vectors of the hidden width per layer, `norm_bias`: each with a bias. `final_norm`:
    vectors behind the last layer and beside the embedding. `qkv_bias`, `out_bias`, `mlp_bias`: None
    asks the config. `gated`: gate, up and down instead of two matrices. `qk_norm` `head`: a weight
    of one head's width each, `all`: of all heads'. `tied`: what tie_word_embeddings is where the
    config is silent. `positions`: extra rows of a learned position embedding, None for none.
    """

    norms: int = 2
    norm_bias: bool = False
    final_norm: int = 1
    qkv_bias: bool | None = None
    out_bias: bool | None = None
    mlp_bias: bool | None = None
    gated: bool = True
    qk_norm: QkNorm = "none"
    tied: bool = False
    positions: int | None = None
    lm_head_bias: bool = False
    router_bias: bool = False
    expert_bias: bool = False
    shared_gate: bool = False
    alibi: bool = False


_PLAIN = Family(qkv_bias=False, out_bias=False, mlp_bias=False)
_GPT = Family(
    norm_bias=True, qkv_bias=True, out_bias=True, mlp_bias=True, gated=False, tied=True, positions=0
)
_BIAS_FREE_GPT = Family(
    norm_bias=True, qkv_bias=False, out_bias=False, mlp_bias=False, gated=False, tied=True
)
_QWEN2 = _PLAIN._replace(qkv_bias=True)
_QWEN3 = Family(qk_norm="head", mlp_bias=False)
_PHI = Family(
    norms=1, norm_bias=True, qkv_bias=True, out_bias=True, mlp_bias=True, gated=False,
    lm_head_bias=True,
)  # fmt: skip

FAMILIES: Mapping[str, Family] = {
    "mistral": _PLAIN,
    "mixtral": _PLAIN,
    "qwen2": _QWEN2,
    "qwen2_moe": _QWEN2._replace(shared_gate=True),
    "qwen2_vl": _QWEN2,
    "qwen2_5_vl": _QWEN2,
    "qwen3": _QWEN3,
    "qwen3_moe": _QWEN3,
    "qwen3_vl": _QWEN3,
    "qwen3_vl_moe": _QWEN3,
    "qwen3_next": _QWEN3._replace(shared_gate=True),
    "qwen3_5": _QWEN3._replace(shared_gate=True),
    "qwen3_5_moe": _QWEN3._replace(shared_gate=True),
    "gemma": Family(mlp_bias=False, tied=True),
    "gemma2": Family(norms=4, mlp_bias=False, tied=True),
    "gemma3": Family(norms=4, mlp_bias=False, qk_norm="head", tied=True),
    "gemma3n": Family(norms=4, mlp_bias=False, qk_norm="head", tied=True),
    "gemma4": Family(norms=4, mlp_bias=False, qk_norm="head", tied=True),
    "phi": _PHI,
    "phi3": _PLAIN,
    "phimoe": Family(norm_bias=True, lm_head_bias=True, mlp_bias=False),
    "falcon": _BIAS_FREE_GPT._replace(norms=1),
    "gpt_bigcode": _GPT,
    "gpt2": _GPT,
    "starcoder2": _GPT._replace(positions=None),
    "opt": _GPT._replace(positions=2),
    "bloom": _GPT._replace(positions=None, final_norm=2, alibi=True),
    "gpt_neox": _GPT._replace(positions=None, tied=False),
    "gptj": _PHI._replace(qkv_bias=False, out_bias=False),
    "mpt": _BIAS_FREE_GPT._replace(norm_bias=False, alibi=True),
    "glm": Family(qkv_bias=None, out_bias=False, mlp_bias=False),
    "glm4": Family(norms=4, qkv_bias=None, out_bias=False, mlp_bias=False),
    "chatglm": Family(qkv_bias=True, out_bias=False, mlp_bias=False),
    "glm4_moe": Family(out_bias=False, mlp_bias=False, router_bias=True),
    "deepseek_v3": Family(router_bias=True),
    "deepseek_v32": Family(router_bias=True),
    "kimi_k2": Family(router_bias=True),
    "glm4_moe_lite": Family(router_bias=True),
    "gpt_oss": Family(qkv_bias=True, out_bias=True, router_bias=True, expert_bias=True),
    "llama4": _PLAIN,
    "cohere": Family(norms=1, tied=True),
    "cohere2": Family(norms=1, tied=True),
    "olmo": Family(norms=0, final_norm=0),
    "olmo2": Family(qk_norm="all"),
    "olmo3": Family(qk_norm="all"),
    "olmoe": Family(qk_norm="all"),
    "exaone4": Family(qk_norm="head"),
    "minimax_m2": Family(qk_norm="all", router_bias=True),
    "stablelm": Family(norm_bias=True, out_bias=False, mlp_bias=False),
    "nemotron": Family(norm_bias=True, gated=False),
    "seed_oss": Family(qkv_bias=None),
    "dbrx": Family(norm_bias=False, qkv_bias=False, out_bias=False),
    "jamba": _PLAIN,
    "mamba2": Family(norms=1, tied=True),
    "nemotron_h": Family(norms=1, gated=False),
}

DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "llama": {
        "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "intermediate_size": 11008, "vocab_size": 32000, "max_position_embeddings": 2048,
    },
    "mistral": {
        "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000,
        "max_position_embeddings": 131072,
    },
    "qwen2": {
        "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 32, "intermediate_size": 22016, "vocab_size": 151936,
        "max_position_embeddings": 32768,
    },
    "gemma3": {
        "hidden_size": 2304, "num_hidden_layers": 26, "num_attention_heads": 8,
        "num_key_value_heads": 4, "head_dim": 256, "intermediate_size": 9216,
        "vocab_size": 262208, "max_position_embeddings": 131072, "sliding_window": 4096,
    },
}  # fmt: skip
"""What configuration classes fill in and the text part of a vision model's config leaves out."""

MULTI_QUERY = frozenset({"falcon", "gpt_bigcode"})
"""`multi_query` alone means one KV head."""


def family_of(model_type: str) -> Family:
    """Return the family of a model type; a Llama where nothing is known of it."""
    return FAMILIES.get(model_type, Family())
