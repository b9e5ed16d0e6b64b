"""What a language model is, as far as memory and attention care: layers, heads, weights.

Sizes are the whole model's: nothing here is divided by tensor or pipeline parallelism.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from flashdoctor.model.facts import Fact

LayerKind: TypeAlias = Literal["full", "sliding", "chunked", "linear", "mamba", "none"]
"""`none` has no attention and no state: an MLP or expert block that is a layer of its own."""

Split: TypeAlias = Literal["tensor", "vocabulary", "kv-heads", "copied"]
"""How tensor parallelism treats a group; `kv-heads` is copied beyond one head a rank."""

Task: TypeAlias = Literal["generate", "encode", "encoder-decoder"]

KEEPS_KV: frozenset[LayerKind] = frozenset({"full", "sliding", "chunked"})
KEEPS_STATE: frozenset[LayerKind] = frozenset({"linear", "mamba"})


class Layer(NamedTuple):
    """One decoder layer. `kv_heads` and `head_dim` stand only where they differ from the model's.

    `window` is the width in tokens of a sliding window or of a local chunk. `shares_kv` layers
    read the keys and values of an earlier layer and keep none.
    """

    kind: LayerKind
    window: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    shares_kv: bool = False


class MLA(NamedTuple):
    """Multi-head latent attention: what is cached is `kv_lora_rank + qk_rope` wide, once."""

    kv_lora_rank: int
    qk_rope: int
    qk_nope: int
    v_head: int
    q_lora: int | None
    indexer_head_dim: int | None = None


class MoE(NamedTuple):
    """Routed experts. `dense` counts the layers without them, `shared` is the width beside them."""

    experts: int
    per_token: int
    intermediate: int
    shared: int
    dense: int


class State(NamedTuple):
    """What one Mamba or linear-attention layer keeps for a sequence, in elements, not bytes.

    `state_dtype` is the dtype that the config asks for the recurrent state, None for the model's.
    """

    conv_elements: int
    state_elements: int
    state_dtype: str | None = None


class Quantization(NamedTuple):
    """`quantization_config`: the method by vLLM's name, bits of a weight, the config itself.

    `group_size` -1 is a whole row; None where the method has no groups or the config is silent.
    """

    method: str
    bits: int | None = None
    group_size: int | None = None
    details: Mapping[str, Any] = {}


class TensorGroup(NamedTuple):
    """Tensors of one purpose: `attention`, `experts`, `embedding`, `lm_head`, `norms`, ..."""

    name: str
    parameters: int
    bytes: int
    split: Split


class Weights(NamedTuple):
    """The weights that the engine keeps on the GPU, before they are divided among ranks.

    `exact`: read from safetensors headers, otherwise worked out from the architecture. Tensors that
    the engine does not load (multi-token prediction) are `skipped_bytes`, outside of the total.
    `by_dtype` counts bytes by the names that safetensors uses (`BF16`, `F8_E4M3`, `I32`).
    """

    total_bytes: int
    by_dtype: Mapping[str, int]
    exact: bool
    embedding_bytes: int
    lm_head_bytes: int
    parameters: int
    groups: tuple[TensorGroup, ...] = ()
    skipped_bytes: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A decoder as its config.json describes it.

    `max_positions` is the longest context that the engine accepts without being told otherwise,
    RoPE scaling included. `intermediate` is the dense MLP's width. `dtype` is the checkpoint's
    (`bfloat16`, `float16`, `float32`), None where the config does not say. `softcap`, `sinks`,
    `alibi` narrow the choice of attention kernel. `facts`: what its files say, under `model.*`; the
    rules FD641 and following judge them beside those of a machine.
    """

    name: str
    architecture: str
    model_type: str
    hidden: int
    layers: tuple[Layer, ...]
    heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int
    intermediate: int
    vocab: int
    tied: bool
    dtype: str | None
    max_positions: int | None
    weights: Weights
    mla: MLA | None = None
    moe: MoE | None = None
    state: State | None = None
    sliding_window: int | None = None
    quantization: Quantization | None = None
    task: Task = "generate"
    vision: bool = False
    softcap: float | None = None
    sinks: bool = False
    alibi: bool = False
    custom_code: bool = False
    facts: tuple[Fact, ...] = ()
