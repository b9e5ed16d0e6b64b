"""Mamba and linear-attention layers: their tensors, and the state they keep for a sequence.

Sources: vLLM 0.25 model_executor/layers/mamba and models/{jamba,mamba2,nemotron_h,granitemoehybrid,
bamba,qwen3_next}.py, transformers 4.57.
"""

from __future__ import annotations

from typing import NamedTuple

from flashdoctor.model.llm import KEEPS_KV, Layer, State
from flashdoctor.tune.fields import Fields
from flashdoctor.tune.shape import Shape
from flashdoctor.tune.tensors import Builder, add_attention, add_experts, add_mlp, add_norms

_MAMBA1 = frozenset({"jamba", "mamba", "falcon_mamba"})
_DELTA = frozenset({"qwen3_next", "qwen3_5", "qwen3_5_moe"})
_ONE_MIXER = frozenset({"nemotron_h", "mamba", "mamba2", "falcon_mamba"})
"""Each layer of these is either a mixer, an attention or an MLP."""

HYBRIDS = frozenset({*_MAMBA1, *_DELTA, *_ONE_MIXER, "granitemoehybrid", "bamba", "falcon_h1"})


class Mamba2(NamedTuple):
    """The sizes of a Mamba-2 mixer."""

    inner: int
    heads: int
    head_dim: int
    groups: int
    state: int
    kernel: int

    @property
    def conv_width(self) -> int:
        """Channels of the convolution."""
        return self.inner + 2 * self.groups * self.state


def read_mamba2(fields: Fields, hidden: int) -> Mamba2:
    """Return the sizes of the Mamba-2 mixers of a config."""
    expand = fields.number("mamba_expand") or fields.number("expand") or 2
    heads = fields.needed("mamba_num_heads", "mamba_n_heads", "num_heads")
    given = fields.whole("mamba_head_dim", "mamba_d_head", "head_dim", least=1)
    head_dim = given or max(1, int(expand * hidden) // heads)
    return Mamba2(
        inner=fields.whole("mamba_d_ssm", least=1) or heads * head_dim,
        heads=heads,
        head_dim=head_dim,
        groups=fields.whole("n_groups", "mamba_n_groups", least=1) or 1,
        state=fields.whole("ssm_state_size", "mamba_d_state", "state_size", least=1) or 128,
        kernel=fields.whole("conv_kernel", "mamba_d_conv", least=1) or 4,
    )


class Mamba1(NamedTuple):
    """The sizes of a Mamba-1 mixer."""

    inner: int
    rank: int
    state: int
    kernel: int


def read_mamba1(fields: Fields, hidden: int) -> Mamba1:
    """Return the sizes of the Mamba-1 mixers of a config."""
    expand = fields.number("mamba_expand") or fields.number("expand") or 2
    rank = fields.get("mamba_dt_rank", "time_step_rank")
    return Mamba1(
        inner=int(expand * hidden),
        rank=rank if isinstance(rank, int) and rank > 0 else -(-hidden // 16),
        state=fields.whole("mamba_d_state", "state_size", least=1) or 16,
        kernel=fields.whole("mamba_d_conv", "conv_kernel", least=1) or 4,
    )


class DeltaNet(NamedTuple):
    """The sizes of a gated delta net (Qwen3-Next, Qwen3.5)."""

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int

    @property
    def keys(self) -> int:
        """Width of all keys."""
        return self.key_heads * self.key_dim

    @property
    def values(self) -> int:
        """Width of all values."""
        return self.value_heads * self.value_dim


def read_delta_net(fields: Fields) -> DeltaNet:
    """Return the sizes of the delta nets of a config."""
    return DeltaNet(
        key_heads=fields.needed("linear_num_key_heads"),
        value_heads=fields.needed("linear_num_value_heads"),
        key_dim=fields.needed("linear_key_head_dim"),
        value_dim=fields.needed("linear_value_head_dim"),
        kernel=fields.whole("linear_conv_kernel_dim", least=1) or 4,
    )


def read_state(shape: Shape) -> State | None:
    """Return what a layer without KV cache keeps of a sequence, None where no layer does."""
    kinds = {layer.kind for layer in shape.layers}
    fields = shape.fields
    dtype = fields.text("mamba_ssm_cache_dtype", "mamba_ssm_dtype")
    if "linear" in kinds and shape.model_type in _DELTA:
        net = read_delta_net(fields)
        conv = (net.kernel - 1) * (2 * net.keys + net.values)
        return State(conv, net.value_heads * net.key_dim * net.value_dim, dtype)
    if "mamba" not in kinds or shape.model_type not in HYBRIDS:
        return None
    if shape.model_type in _MAMBA1:
        one = read_mamba1(fields, shape.hidden)
        return State((one.kernel - 1) * one.inner, one.inner * one.state, dtype)
    two = read_mamba2(fields, shape.hidden)
    return State((two.kernel - 1) * two.conv_width, two.heads * two.head_dim * two.state, dtype)


def add_hybrid_layers(to: Builder, shape: Shape) -> None:
    """Add every layer of a model whose layers are not all attention."""
    for index, layer in enumerate(shape.layers):
        to.layer = index
        add_norms(to, shape)
        _add_mixer(to, shape, layer)
        if shape.model_type in _ONE_MIXER:
            _add_lone_mlp(to, shape, index, layer)
        elif index in shape.expert_layers:
            add_experts(to, shape)
        else:
            add_mlp(to, shape, _mlp_width(shape))


def _mlp_width(shape: Shape) -> int:
    given = shape.fields.whole("shared_intermediate_size")
    return shape.intermediate if given is None else given


def _add_lone_mlp(to: Builder, shape: Shape, index: int, layer: Layer) -> None:
    if layer.kind != "none":
        return
    if index in shape.expert_layers:
        add_experts(to, shape)
    else:
        add_mlp(to, shape, shape.intermediate)


def _add_mixer(to: Builder, shape: Shape, layer: Layer) -> None:
    if layer.kind in KEEPS_KV:
        add_attention(to, shape, layer)
    elif layer.kind == "linear" and shape.model_type in _DELTA:
        _add_delta_net(to, shape)
    elif layer.kind == "mamba" and shape.model_type in _MAMBA1:
        _add_mamba1(to, shape)
    elif layer.kind == "mamba":
        _add_mamba2(to, shape)


def _add_mamba1(to: Builder, shape: Shape) -> None:
    one, hidden = read_mamba1(shape.fields, shape.hidden), shape.hidden
    bias = shape.fields.flag("mamba_proj_bias", "use_bias")
    to.linear("mamba.in_proj", "mixer", 2 * one.inner, hidden, bias=bias)
    to.plain("mamba.conv1d", "mixer", one.inner * (one.kernel + 1), "tensor")
    to.linear("mamba.x_proj", "mixer", one.rank + 2 * one.state, one.inner)
    to.linear("mamba.dt_proj", "mixer", one.inner, one.rank, bias=True)
    to.wide("mamba.a_and_d", "mixer", one.inner * (one.state + 1))
    if shape.model_type == "jamba":
        to.plain("mamba.norms", "norm", one.rank + 2 * one.state)
    to.linear("mamba.out_proj", "mixer", hidden, one.inner, bias=bias)


def _add_mamba2(to: Builder, shape: Shape) -> None:
    two, hidden = read_mamba2(shape.fields, shape.hidden), shape.hidden
    bias = shape.fields.flag("mamba_proj_bias", "use_bias")
    conv_bias = shape.fields.flag("use_conv_bias", "mamba_conv_bias", default=True)
    to.linear("mixer.in_proj", "mixer", two.inner + two.conv_width + two.heads, hidden, bias=bias)
    to.plain("mixer.conv1d", "mixer", two.conv_width * (two.kernel + int(conv_bias)), "tensor")
    to.wide("mixer.a_d_dt", "mixer", 3 * two.heads)
    to.plain("mixer.norm", "norm", two.inner)
    to.linear("mixer.out_proj", "mixer", hidden, two.inner, bias=bias)


def _add_delta_net(to: Builder, shape: Shape) -> None:
    net, hidden = read_delta_net(shape.fields), shape.hidden
    parts = ("in_proj_qkv", "in_proj_z")
    to.linear("linear_attn.in_proj_qkvz", "mixer", 2 * (net.keys + net.values), hidden, parts=parts)
    to.linear("linear_attn.in_proj_ba", "mixer", 2 * net.value_heads, hidden)
    to.plain("linear_attn.conv1d", "mixer", (2 * net.keys + net.values) * net.kernel, "tensor")
    to.wide("linear_attn.a_and_dt", "mixer", 2 * net.value_heads)
    to.plain("linear_attn.norm", "norm", net.value_dim)
    to.linear("linear_attn.out_proj", "mixer", hidden, net.values)
