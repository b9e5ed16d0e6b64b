"""The KV cache: bytes of a block, groups of layers that share a pool, and what fits into it.

After v1/core/kv_cache_utils.py and v1/kv_cache_interface.py of vLLM. Every layer has pages of one
block each. Layers of one kind are one group; those of several kinds are cut into groups of equal
size that share one pool, so that a block of the pool is a page for each place in a group.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from flashdoctor.errors import UsageError
from flashdoctor.model.llm import KEEPS_KV, KEEPS_STATE
from flashdoctor.tune import spans

if TYPE_CHECKING:
    from flashdoctor.model.llm import Layer
    from flashdoctor.tune.defaults import Case

_WIDTHS = {"float16": 2, "bfloat16": 2, "float32": 4, "half": 2, "float": 4}
_INDEXER_SCALE = 128
"""Values of an indexer's key for each scale of 4 bytes."""
_FP8_BITS = 8
_TEST_HEADS, _TEST_HEAD = 8, 128
"""The heads of `bytes_8_heads_of_128`."""


class Spec(NamedTuple):
    """How one layer caches: tokens and bytes of a block. A state layer keeps whole blocks."""

    kind: str
    window: int | None
    block: int
    page: int


class Group(NamedTuple):
    """Layers that share a table of blocks."""

    spec: Spec
    layers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The blocks of one GPU. `block_bytes` is what a block takes in all layers of a group."""

    groups: tuple[Group, ...]
    block_bytes: int
    token_bytes: int
    in_flight: int
    state_blocks: int
    capacity: spans.Row

    def blocks(self, spec: Spec, length: int) -> int:
        """Return how many blocks of a group one request of a length may hold."""
        if spec.kind == "state":
            return self.state_blocks
        window = spec.window or 0
        if spec.kind == "sliding":
            return ceil(min(window - 1 + self.in_flight, length), spec.block) + 1
        if spec.kind == "chunked":
            length = min(window + self.in_flight, length)
        return ceil(length, spec.block)

    def request_blocks(self, length: int) -> int:
        """Return how many blocks of the pool one request of a length may hold."""
        return sum(self.blocks(group.spec, length) for group in self.groups)

    def needed(self, length: int) -> int:
        """Return the bytes that the engine's check asks for before it starts."""
        if self.capacity["needs"] == "groups":
            return self.block_bytes * self.request_blocks(length)
        if self.capacity["needs"] == "first group":
            return self.block_bytes * self.blocks(self.groups[0].spec, length)
        return sum(
            group.layers * group.spec.page * self.blocks(group.spec, length)
            for group in self.groups
        )

    def longest(self, available: int, limit: int) -> int:
        """Return the longest request up to a limit that the check lets through, 0 for none."""
        if limit < 1 or self.needed(1) > available:
            return 0
        low, high = 1, limit
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.needed(middle) <= available else (low, middle - 1)
        return low

    def tokens(self, blocks: int, length: int) -> int:
        """Return the size of the cache in tokens as the release counts it."""
        if self.capacity["counts"] == "requests":
            return int(self.requests(blocks, length) * length)
        sizes = [group.spec.block for group in self.groups if group.spec.kind != "state"]
        return blocks // len(self.groups) * min(sizes, default=0)

    def requests(self, blocks: int, length: int) -> float:
        """Return how many requests of a length fit at once."""
        return blocks / max(self.request_blocks(length), 1)


def ceil(value: int, step: int) -> int:
    """Return a division rounded up."""
    return -(-value // step)


def pool_of(case: Case) -> Pool | None:
    """Return the pool of the GPU with most layers; None for a model that caches nothing.

    Raises `UsageError` for a type of cache that has no size in the tables.
    """
    specs = _specs(case)
    if not specs:
        return None
    capacity = _capacity(case)
    groups, block_bytes = _grouped(case, specs, capacity)
    return Pool(
        groups=groups,
        block_bytes=block_bytes,
        token_bytes=sum(spec.page // spec.block for spec in specs if spec.kind != "state"),
        in_flight=_in_flight(case),
        state_blocks=2 if case.settings.enable_prefix_caching else 1,
        capacity=capacity,
    )


def block_size(case: Case) -> int:
    """Return the tokens of a block before hybrid models raise it."""
    if case.settings.block_size:
        return case.settings.block_size
    row = case.row("default", setting="block-size") or {"value": 16}
    usual, backend = int(row["value"]), case.settings.attention_backend
    if not uses_mla(case) or backend is None:
        return usual
    limits = case.tables.table("launch/attention")["limit"]
    row = spans.row_at([row for row in limits if row["backend"] == backend], case.version) or {}
    sizes = row.get("block_sizes", [])
    return min(sizes) if sizes and usual not in sizes else usual


def uses_mla(case: Case) -> bool:
    """Whether the latent is cached instead of full heads: 0.7.1 on, unless it is turned off."""
    known = spans.order(case.version) >= spans.order("0.7.1")
    return (
        case.model.mla is not None
        and case.model.mla.compressed
        and known
        and case.settings.variable("VLLM_MLA_DISABLE") != "1"
    )


def _capacity(case: Case) -> spans.Row:
    if case.engine == "V0":
        return {"hybrid": False, "counts": "blocks", "needs": "groups"}
    row = case.row("capacity") or {}
    return row if case.settings.hybrid_kv_cache else {**row, "hybrid": False}


def _in_flight(case: Case) -> int:
    """Return the tokens that a window holds beside itself: scheduled and not yet settled."""
    tokens = case.settings.max_num_batched_tokens or 0
    late = spans.order(case.version) >= spans.order("0.26.0")
    if not late:
        return tokens
    stages = case.settings.pipeline_parallel_size
    if not case.settings.async_scheduling:
        return stages * tokens
    return (stages + 1 if case.runner == "V2" else max(stages, 2)) * tokens


def _specs(case: Case) -> list[Spec]:
    layers = case.model.layers
    count = ceil(len(layers), case.settings.pipeline_parallel_size)
    mine = [layer for layer in layers[:count] if not layer.shares_kv]
    block = _raised(case, mine, block_size(case))
    kept = [spec for layer in mine if layer.kind in KEEPS_KV for spec in _of(case, layer, block)]
    states = [layer for layer in mine if layer.kind in KEEPS_STATE]
    page = max([spec.page for spec in kept], default=state_bytes(case))
    return kept + [Spec("state", None, block, max(page, state_bytes(case))) for _ in states]


def _of(case: Case, layer: Layer, block: int) -> list[Spec]:
    page = block * layer_token_bytes(case, layer)
    kind = layer.kind if layer.window else "full"
    specs = [Spec(kind, layer.window, block, page)]
    mla = case.model.mla
    if mla and mla.indexer_head_dim and uses_mla(case):
        width = mla.indexer_head_dim + 4 * ceil(mla.indexer_head_dim, _INDEXER_SCALE)
        specs.append(Spec("full", None, block, block * width))
    return specs


def _raised(case: Case, layers: list[Layer], block: int) -> int:
    """Return the block of a hybrid model: its attention page must hold a whole state."""
    kept = [layer for layer in layers if layer.kind in KEEPS_KV]
    if not kept or not any(layer.kind in KEEPS_STATE for layer in layers):
        return block
    step = int(case.constant("mamba-block-step"))
    token = max(layer_token_bytes(case, layer) for layer in kept)
    return max(block, step * ceil(state_bytes(case), step * token))


def layer_token_bytes(case: Case, layer: Layer) -> int:
    """Return what one token takes in one attention layer on one GPU."""
    model = case.model
    if model.mla is not None and uses_mla(case):
        return _latent_bytes(case, model.mla.kv_lora_rank + model.mla.qk_rope)
    heads = max(1, (layer.kv_heads or model.kv_heads) // case.settings.tensor_parallel_size)
    key = layer.head_dim or model.head_dim
    value = model.v_head_dim if layer.head_dim is None else layer.head_dim
    if model.mla is not None:
        key = value = model.mla.qk_nope + model.mla.qk_rope
        heads = max(1, model.heads // case.settings.tensor_parallel_size)
    row = _kv_row(case)
    if "bits" not in row:
        share = float(row["bytes_8_heads_of_128"]) / (2 * _TEST_HEADS * _TEST_HEAD)
        return round(heads * (key + value) * share)
    bits = heads * (key + value) * float(row["bits"])
    return round(bits / 8) + heads * int(row["head_bytes"])


def _latent_bytes(case: Case, width: int) -> int:
    dtype = case.settings.kv_cache_dtype
    for row in case.rows("mla_layout"):
        if row["name"] == dtype and "bytes_per_value" not in row:
            return int(row["bytes_per_token"])
    return round(width * float(_kv_row(case)["bits"]) / 8)


def _kv_row(case: Case) -> spans.Row:
    """Return the table's row for the cache's type; `auto` is the dtype of the model."""
    name = case.settings.kv_cache_dtype
    if name == "auto":
        name = _checkpoint_kv(case) or case.settings.dtype or "bfloat16"
    if name in {"float32", "float"}:
        return {"bits": 32, "head_bytes": 0}
    same = {"float16": "bfloat16", "half": "bfloat16", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8"}
    name = same.get(name, "fp8" if name == "fp8_inc" else name)
    for row in case.rows("kv_dtype"):
        if row["name"] == name:
            return row
    known = ", ".join(row["name"] for row in case.rows("kv_dtype"))
    raise UsageError(f"the size of a {name} KV cache is not known", hint=f"known: {known}")


def _checkpoint_kv(case: Case) -> str | None:
    """Return the cache type that a checkpoint asks for: compressed-tensors, ModelOpt."""
    details = case.model.quantization.details if case.model.quantization else {}
    scheme = details.get("kv_cache_scheme")
    asked = isinstance(scheme, dict) and scheme.get("num_bits") == _FP8_BITS
    asked = asked or str(details.get("kv_cache_quant_algo", "")).upper() == "FP8"
    return "fp8" if asked and case.engine == "V1" else None


def state_bytes(case: Case) -> int:
    """Return what one state layer keeps for a sequence on one GPU."""
    state = case.model.state
    if state is None:
        return 0
    width = _WIDTHS.get(case.settings.dtype or "", 2)
    whole = state.conv_elements * width
    whole += state.state_elements * _WIDTHS.get(state.state_dtype or "", width)
    return ceil(whole, case.settings.tensor_parallel_size)


def _grouped(case: Case, specs: list[Spec], capacity: spans.Row) -> tuple[tuple[Group, ...], int]:
    if not capacity["hybrid"]:
        specs = _as_full(case, specs)
    kinds = {(spec.kind, spec.window, spec.block) for spec in specs}
    if len(kinds) == 1:
        pages = sum(spec.page for spec in specs)
        return (Group(specs[0]._replace(page=pages // len(specs)), len(specs)),), pages
    counts = Counter(_same_pages(specs))
    size = _group_size(case, list(counts.values()))
    groups = tuple(
        Group(spec, min(size, count))
        for spec, count in counts.items()
        for _ in range(ceil(count, size))
    )
    return groups, size * groups[0].spec.page


def _as_full(case: Case, specs: list[Spec]) -> list[Spec]:
    """Return specs as without the hybrid manager: windows beside full layers count as full."""
    mixed = len({spec.kind for spec in specs if spec.kind != "state"}) > 1
    if not mixed and case.engine == "V1":
        return specs
    return [
        spec if spec.kind == "state" else spec._replace(kind="full", window=None) for spec in specs
    ]


def _same_pages(specs: list[Spec]) -> list[Spec]:
    """Return specs with equal pages: smaller ones take more tokens to a block, or are padded."""
    largest = max(spec.page for spec in specs)
    return [
        spec._replace(
            block=spec.block * (1 if largest % spec.page else largest // spec.page), page=largest
        )
        for spec in specs
    ]


def _group_size(case: Case, counts: list[int]) -> int:
    slack = case.constant("hybrid-group-slack")
    return max(counts) if max(counts) < min(counts) * slack else min(counts)
