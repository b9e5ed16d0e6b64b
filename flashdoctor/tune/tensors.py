"""The tensors of a decoder as vLLM holds them: fused, padded, quantised.

Sources: the model files of vLLM 0.25 (model_executor/models) and of transformers 4.57.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from flashdoctor.model.llm import KEEPS_KV, Layer, Quantization, Split, Tensor
from flashdoctor.tune.quantization import (
    EXPERTS_ONLY,
    Layout,
    is_skipped,
    layout_of,
    skipped_modules,
)
from flashdoctor.tune.shape import Shape

VOCABULARY_STEP = 64
"""vLLM pads the vocabulary to a multiple of this (VocabParallelEmbedding)."""

HALF = 2


@dataclass(slots=True, kw_only=True)
class Builder:
    """Collects the tensors of one layer after the other, quantised as the config says."""

    quantization: Quantization | None
    width: int = HALF
    tensors: list[Tensor] = field(default_factory=list)
    layer: int | None = None
    _layout: Layout | None = None
    _skipped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.quantization is not None:
            self._layout = layout_of(self.quantization)
            self._skipped = skipped_modules(self.quantization)

    def plain(self, name: str, group: str, parameters: int, split: Split = "copied") -> None:
        """Add a vector or a matrix that is never quantised."""
        if parameters > 0:
            size = parameters * self.width
            self.tensors.append(Tensor(name, group, self.layer, parameters, size, split))

    def wide(self, name: str, group: str, parameters: int) -> None:
        """Add what is kept in float32 whatever the dtype: states of Mamba, routers' corrections."""
        if parameters > 0:
            self.tensors.append(Tensor(name, group, self.layer, parameters, parameters * 4))

    def linear(  # noqa: PLR0913 - a matrix has this many sides
        self,
        name: str,
        group: str,
        rows: int,
        columns: int,
        *,
        bias: bool = False,
        split: Split = "tensor",
        copies: int = 1,
        kv_rows: int = 0,
        parts: Iterable[str] = (),
    ) -> None:
        """Add a matrix of `rows` outputs, quantised unless the method leaves it as it is.

        `parts`: names in the checkpoint of what is fused here. `copies`: of the same size, experts.
        """
        count = rows * columns * copies
        if count <= 0:
            return
        layout = self._layout_for(name, group, parts)
        weights = Layout(bits=layout.bits).size(rows, columns) - 4 if layout else count * self.width
        size = weights * copies if layout else weights
        kv_bytes = size * kv_rows // rows
        self.tensors.append(Tensor(name, group, self.layer, count, size, split, kv_bytes))
        if layout:
            beside = (layout.size(rows, columns) - weights) * copies
            kv_beside = beside * kv_rows // rows
            self.tensors.append(
                Tensor(f"{name}.scales", group, self.layer, 0, beside, split, kv_beside)
            )
        if bias:
            self.plain(f"{name}.bias", group, rows * copies, split)

    def _layout_for(self, name: str, group: str, parts: Iterable[str]) -> Layout | None:
        if self._layout is None or self.quantization is None:
            return None
        if self.quantization.method in EXPERTS_ONLY and group != "experts":
            return None
        prefix = "" if self.layer is None else f"model.layers.{self.layer}."
        folder = name.rpartition(".")[0]
        names = [name, *(f"{folder}.{part}" for part in parts)]
        if any(is_skipped(prefix + module, self._skipped) for module in names):
            return None
        return self._layout


def add_attention(to: Builder, shape: Shape, layer: Layer) -> None:
    """Add the attention of one layer; MLA where the model has it."""
    if shape.mla is not None:
        _add_mla(to, shape)
        return
    fields, family = shape.fields, shape.family
    width = layer.head_dim or shape.head_dim
    kv_rows = 2 * (layer.kv_heads or shape.kv_heads) * width
    gate = 2 if _is_gated(shape) else 1
    flag = fields.flag(
        "attention_bias", "use_qkv_bias", "qkv_bias", "add_qkv_bias", "use_bias", "bias",
        default=False,
    )  # fmt: skip
    bias = flag if family.qkv_bias is None or "use_bias" in fields.body else family.qkv_bias
    out_bias = flag if family.out_bias is None or "use_bias" in fields.body else family.out_bias
    rows = shape.heads * width * gate + kv_rows
    to.linear(
        "self_attn.qkv_proj", "attention", rows, shape.hidden, bias=bias, kv_rows=kv_rows,
        parts=("q_proj", "k_proj", "v_proj"),
    )  # fmt: skip
    to.linear("self_attn.o_proj", "attention", shape.hidden, shape.heads * width, bias=out_bias)
    if family.qk_norm == "head":
        to.plain("self_attn.qk_norm", "norm", 2 * width)
    elif family.qk_norm == "all" or (fields.flag("use_qk_norm") and shape.model_type == "cohere"):
        to.plain("self_attn.qk_norm", "norm", shape.heads * width + kv_rows // 2)
    elif fields.flag("use_qk_norm") and shape.model_type == "glm4_moe":
        to.plain("self_attn.qk_norm", "norm", 2 * width)
    if shape.model_type == "gpt_oss":
        to.plain("self_attn.sinks", "attention", shape.heads, "tensor")


def _is_gated(shape: Shape) -> bool:
    known = shape.model_type in ("qwen3_next", "qwen3_5", "qwen3_5_moe")
    return shape.fields.flag("attn_output_gate", default=known)


def _add_mla(to: Builder, shape: Shape) -> None:
    mla, heads, hidden = shape.mla, shape.heads, shape.hidden
    if mla is None:
        return
    query = heads * (mla.qk_nope + mla.qk_rope)
    if mla.q_lora is None:
        to.linear("self_attn.q_proj", "attention", query, hidden)
    else:
        to.linear("self_attn.q_a_proj", "attention", mla.q_lora, hidden, split="copied")
        to.plain("self_attn.q_a_layernorm", "norm", mla.q_lora)
        to.linear("self_attn.q_b_proj", "attention", query, mla.q_lora)
    down = mla.kv_lora_rank + mla.qk_rope
    to.linear("self_attn.kv_a_proj_with_mqa", "attention", down, hidden, split="copied")
    to.plain("self_attn.kv_a_layernorm", "norm", mla.kv_lora_rank)
    up = heads * (mla.qk_nope + mla.v_head)
    to.linear("self_attn.kv_b_proj", "attention", up, mla.kv_lora_rank)
    if to.quantization is not None:
        # vLLM keeps an unpacked copy of a quantised kv_b_proj for decoding: W_UK and W_UV.
        size = up * mla.kv_lora_rank * to.width
        to.tensors.append(Tensor("self_attn.w_uk_uv", "attention", to.layer, 0, size, "tensor"))
    to.linear("self_attn.o_proj", "attention", hidden, heads * mla.v_head)
    if mla.indexer_head_dim:
        _add_indexer(to, shape, mla.indexer_head_dim, mla.q_lora or hidden)


def _add_indexer(to: Builder, shape: Shape, width: int, query: int) -> None:
    heads = shape.fields.whole("index_n_heads", least=1, most=1 << 16) or 1
    to.linear("self_attn.indexer.wq_b", "attention", heads * width, query, split="copied")
    to.linear("self_attn.indexer.wk", "attention", width, shape.hidden, split="copied")
    to.plain("self_attn.indexer.k_norm", "norm", 2 * width)
    to.plain("self_attn.indexer.weights_proj", "attention", heads * shape.hidden)


def add_mlp(to: Builder, shape: Shape, width: int, name: str = "mlp") -> None:
    """Add a dense MLP of this width."""
    bias = shape.family.mlp_bias
    if bias is None or "use_bias" in shape.fields.body:
        bias = shape.fields.flag("mlp_bias", "use_bias", "add_bias_linear")
    if shape.family.gated:
        parts = ("gate_proj", "up_proj")
        to.linear(f"{name}.gate_up_proj", "mlp", 2 * width, shape.hidden, bias=bias, parts=parts)
    else:
        to.linear(f"{name}.up_proj", "mlp", width, shape.hidden, bias=bias)
    to.linear(f"{name}.down_proj", "mlp", shape.hidden, width, bias=bias)


def add_experts(to: Builder, shape: Shape) -> None:
    """Add the router, the routed experts and what stands beside them."""
    moe, hidden = shape.moe, shape.hidden
    if moe is None:
        return
    family = shape.family
    to.plain("mlp.gate", "router", moe.experts * hidden)
    if family.router_bias:
        to.wide("mlp.gate.bias", "router", moe.experts)
    inner = shape.fields.whole("moe_latent_size", least=1) or hidden
    for name, rows, columns in (
        ("mlp.experts.w13", moe.intermediate * (2 if family.gated else 1), inner),
        ("mlp.experts.w2", inner, moe.intermediate),
    ):
        to.linear(
            name, "experts", rows, columns, bias=family.expert_bias, copies=moe.experts,
            parts=("0.gate_proj", "0.down_proj"),
        )  # fmt: skip
    if moe.shared:
        add_mlp(to, shape, moe.shared, "mlp.shared_experts")
    if moe.shared and family.shared_gate:
        to.plain("mlp.shared_expert_gate", "router", hidden)


def add_ends(to: Builder, shape: Shape) -> None:
    """Add the embedding, the learned positions, the norms outside of layers and the lm_head."""
    to.layer = None
    family, hidden = shape.family, shape.hidden
    padded = -(-shape.vocab // VOCABULARY_STEP) * VOCABULARY_STEP
    narrow = shape.fields.whole("word_embed_proj_dim", least=1) or hidden
    _add_vocabulary(to, "model.embed_tokens", "embedding", shape.vocab * narrow, padded * narrow)
    if narrow != hidden:
        to.plain("model.project_in_out", "embedding", 2 * narrow * hidden)
    if family.positions is not None:
        rows = shape.fields.whole("n_positions", "max_position_embeddings") or 0
        to.plain("model.positions", "embedding", (rows + family.positions) * hidden)
    bias = 2 if family.norm_bias else 1
    to.plain("model.norm", "norm", family.final_norm * hidden * bias)
    if not shape.tied:
        _add_vocabulary(to, "lm_head", "lm_head", shape.vocab * hidden, padded * hidden)
    if family.lm_head_bias:
        to.plain("lm_head.bias", "lm_head", shape.vocab, "tensor")


def _add_vocabulary(to: Builder, name: str, group: str, parameters: int, padded: int) -> None:
    to.tensors.append(Tensor(name, group, None, parameters, padded * to.width, "tensor"))


def add_layers(to: Builder, shape: Shape) -> None:
    """Add every layer of a model that has an attention and an MLP or experts in each."""
    for index, layer in enumerate(shape.layers):
        to.layer = index
        add_norms(to, shape)
        if layer.kind in KEEPS_KV:
            add_attention(to, shape, layer)
        if index in shape.expert_layers:
            add_experts(to, shape)
        else:
            add_mlp(to, shape, shape.intermediate)


def add_norms(to: Builder, shape: Shape) -> None:
    """Add the norms of the hidden width that a layer has."""
    count = shape.family.norms
    if shape.model_type == "falcon" and shape.fields.flag("new_decoder_architecture"):
        count = 2
    to.plain("norms", "norm", count * shape.hidden * (2 if shape.family.norm_bias else 1))
