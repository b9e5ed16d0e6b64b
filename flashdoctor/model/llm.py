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

Split: TypeAlias = Literal["tensor", "copied"]
"""Whether tensor parallelism divides a tensor among ranks, or each holds a copy."""

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
    compressed: bool = True
    """Whether the cache keeps the latent; vLLM keeps MiniCPM3's keys and values whole."""


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


class Tensor(NamedTuple):
    """A tensor as the engine holds it: fused (`qkv_proj`), all experts of a layer in one.

    `group`: embedding, attention, mlp, experts, router, norm, mixer, lm_head, vision, rope.
    `bytes` includes padding; scales are tensors of their own, of 0 parameters. `kv_bytes` is the
    part that belongs to KV heads, which are copied beyond one head a rank. `layer` is None outside
    of the decoder layers.
    """

    name: str
    group: str
    layer: int | None
    parameters: int
    bytes: int
    split: Split = "copied"
    kv_bytes: int = 0


class Weights(NamedTuple):
    """The weights that the engine keeps on GPUs, before they are divided among ranks.

    `exact`: the sizes are those of safetensors headers, otherwise worked out from the architecture.
    `tensors` are always worked out; `flashdoctor.tune.weights.rank_bytes` divides them and adds
    what the CUDA allocator rounds up. Tensors that the engine does not load (multi-token
    prediction) are `skipped_bytes`, outside of the total. `by_dtype` counts bytes by the names
    that safetensors uses (`BF16`, `F8_E4M3`, `I32`). `source` says how all this is known.
    """

    total_bytes: int
    by_dtype: Mapping[str, int]
    exact: bool
    embedding_bytes: int
    lm_head_bytes: int
    parameters: int
    tensors: tuple[Tensor, ...] = ()
    skipped_bytes: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A decoder as its config.json describes it.

    `max_positions` is the longest context that the engine accepts without being told otherwise,
    RoPE scaling included. `intermediate` is the dense MLP's width. `dtype` is the checkpoint's
    (`bfloat16`, `float16`, `float32`), None where the config does not say. `softcap`, `sinks`,
    `alibi` narrow the choice of attention kernel. Heads are 0 where no layer has attention; with
    MLA `head_dim` is that of the queries and keys before compression. `facts`: what its files say,
    under `model.*`; the rules FD641 and following judge them beside those of a machine.
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
