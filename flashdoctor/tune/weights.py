"""The weights of a model: worked out from the architecture, or counted from safetensors headers."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Mapping

from flashdoctor.model.llm import Model, Tensor, Weights
from flashdoctor.model.regex import regex
from flashdoctor.tune.fields import Fields
from flashdoctor.tune.mixers import HYBRIDS, add_hybrid_layers
from flashdoctor.tune.safetensors import Stored
from flashdoctor.tune.shape import Shape
from flashdoctor.tune.tensors import Builder, add_ends, add_layers
from flashdoctor.tune.vision import vision_parameters

GIB = 1 << 30
MIB = 1 << 20

_DTYPE_NAMES: Mapping[str | None, str] = {"float16": "F16", "float32": "F32"}
_LAYER = regex(r"(?:^|\.)(?:layers|h|blocks)\.(\d{1,5})\.")
_EXTRA = regex(r"(?:^|\.)(?:mtp|nextn|draft)\b")
_LM_HEAD = regex(r"(?:^|\.)(?:lm_head|embed_out|output_layer)\.(?:weight|qweight)$")
_EMBEDDING = regex(r"(?:^|\.)(?:embed_tokens|wte|word_embeddings?|embeddings|embed_in)\.weight$")
_VISION = regex(r"(?:^|\.)(?:visual|vision\w*|vit|audio\w*|multi_modal_projector)\.")
_CAST = regex(r"\.(?:weight|bias)$")
_HALVES = frozenset({"F16", "BF16"})


def estimate_weights(shape: Shape, config: Fields, builder: Builder, dtype: str | None) -> Weights:
    """Work out every tensor from a config."""
    (add_hybrid_layers if shape.model_type in HYBRIDS else add_layers)(builder, shape)
    add_ends(builder, shape)
    builder.plain("visual", "vision", vision_parameters(config, shape.hidden), "tensor")
    rope = tuple(rope_tables(shape, builder.width))
    tensors = (*sorted(builder.tensors, key=_load_order), *rope)
    counted = [tensor for tensor in tensors if tensor.group != "rope"]
    return Weights(
        total_bytes=sum(tensor.bytes for tensor in counted),
        by_dtype=_census(counted, builder, _DTYPE_NAMES.get(dtype, "BF16")),
        exact=False,
        embedding_bytes=_group_bytes(counted, "embedding"),
        lm_head_bytes=_group_bytes(counted, "lm_head"),
        parameters=sum(tensor.parameters for tensor in counted),
        tensors=tensors,
        source="worked out from config.json",
    )


def _load_order(tensor: Tensor) -> tuple[int, int]:
    """Sort as the model is built: the embedding, the layers, the norm, the lm_head."""
    if tensor.layer is not None:
        return 1, tensor.layer
    return (0 if tensor.group in ("embedding", "vision") else 2), 0


def _group_bytes(tensors: Iterable[Tensor], group: str) -> int:
    return sum(tensor.bytes for tensor in tensors if tensor.group == group)


def _census(tensors: Iterable[Tensor], builder: Builder, name: str) -> Mapping[str, int]:
    sizes: Counter[str] = Counter()
    for tensor in tensors:
        is_packed = tensor.parameters and tensor.bytes < tensor.parameters * builder.width
        is_scale = not tensor.parameters
        sizes["packed" if is_packed else "scales" if is_scale else name] += tensor.bytes
    return dict(sizes)


def rope_tables(shape: Shape, width: int) -> Iterable[Tensor]:
    """Yield the tables of cosines and sines: a row a position, for the longest context there is.

    vLLM holds one for each kind of RoPE (model_executor/layers/rotary_embedding).
    """
    fields = shape.fields
    if shape.family.positions is not None or shape.family.alibi or not shape.heads:
        return
    rows = rope_positions(fields)
    whole = shape.mla.qk_rope if shape.mla else shape.head_dim
    part = fields.number("partial_rotary_factor") or fields.number("rotary_pct") or 1.0
    wide = fields.whole("rotary_dim", least=1) or int(whole * min(part, 1.0))
    for name in ("rope", "rope.local")[: 2 if shape.model_type.startswith("gemma3") else 1]:
        yield Tensor(name, "rope", None, 0, rows * wide * width)


def rope_positions(fields: Fields) -> int:
    """Return the rows of the RoPE table: YaRN's stretched length, else max_position_embeddings."""
    rows = fields.whole("max_position_embeddings", "n_positions", "seq_length") or 0
    scaling = fields.part("rope_scaling", "rope_parameters") or Fields({})
    original = scaling.whole("original_max_position_embeddings", least=1)
    if scaling.get("rope_type", "type") == "yarn" and original:
        return int(original * (scaling.number("factor") or 1))
    return rows


# --- one rank ---


def rank_bytes(model: Model, tensor_parallel: int = 1, pipeline_parallel: int = 1) -> int:
    """Return what the weights take of one GPU, on the rank that has most of them.

    What CUDA's allocator rounds up and the RoPE tables are counted: it is what vLLM prints behind
    "Model loading took". Sizes from safetensors replace those worked out, in proportion.
    """
    weights = model.weights
    whole = sum(tensor.bytes for tensor in weights.tensors if tensor.group != "rope")
    ratio = weights.total_bytes / whole if weights.exact and whole else 1.0
    stages = max(1, pipeline_parallel)
    return max(
        reserved_bytes(
            int(rank_share(tensor, tensor_parallel, model.kv_heads) * ratio)
            for tensor in weights.tensors
            if stage in _stages_of(tensor, len(model.layers), stages, tied=model.tied)
        )
        for stage in range(stages)
    )


def rank_share(tensor: Tensor, tensor_parallel: int, kv_heads: int) -> int:
    """Return the bytes of a tensor that one rank holds."""
    if tensor.split == "copied" or tensor_parallel <= 1:
        return tensor.bytes
    kept = -(-tensor.kv_bytes // min(tensor_parallel, max(1, kv_heads)))
    return -(-(tensor.bytes - tensor.kv_bytes) // tensor_parallel) + kept


def _stages_of(tensor: Tensor, layers: int, stages: int, *, tied: bool) -> frozenset[int]:
    """Return the pipeline stages that hold a tensor; what is left over goes to the last but one.

    As vLLM's get_pp_indices has it: from the second last stage backwards, the last one spared.
    """
    last = stages - 1
    if tensor.layer is not None:
        return frozenset({_stage_of(tensor.layer, layers, stages)})
    if tensor.group in ("embedding", "vision"):
        return frozenset({0, last} if tied and tensor.group == "embedding" else {0})
    return frozenset(range(stages)) if tensor.group == "rope" else frozenset({last})


def _stage_of(layer: int, layers: int, stages: int) -> int:
    each, over = divmod(layers, stages)
    sizes = [each] * stages
    for place in range(2, over + 2):
        sizes[-place] += 1
    end = 0
    for stage, size in enumerate(sizes):
        end += size
        if layer < end:
            return stage
    return stages - 1


_SMALL, _LARGE = MIB, 10 * MIB
_SMALL_SEGMENT, _SEGMENT, _STEP = 2 * MIB, 20 * MIB, 2 * MIB
_ALIGN = 512


def reserved_bytes(sizes: Iterable[int]) -> int:
    """Return what CUDA's caching allocator takes from the GPU for allocations in this order.

    Up to 1 MiB: out of segments of 2 MiB. Up to 10 MiB: out of segments of 20 MiB. Larger ones get
    their own, rounded up to 2 MiB (torch 2.11, c10/cuda/CUDACachingAllocator.cpp).
    """
    total = 0
    small: list[int] = []
    large: list[int] = []
    for raw in sizes:
        size = -(-raw // _ALIGN) * _ALIGN
        free, least = (small, _ALIGN) if size <= _SMALL else (large, _SMALL + 1)
        place = bisect_left(free, size)
        if place < len(free):
            block = free.pop(place)
        else:
            block = _segment(size)
            total += block
        if block - size >= least:
            insort(free, block - size)
    return total


def _segment(size: int) -> int:
    if size <= _SMALL:
        return _SMALL_SEGMENT if size else 0
    return _SEGMENT if size < _LARGE else -(-size // _STEP) * _STEP


# --- files ---


def count_weights(tensors: Mapping[str, Stored], estimate: Weights, model: Model) -> Weights:
    """Return the weights that the engine keeps of the tensors in the files.

    Left out: layers beyond the config's count and `mtp.*` (multi-token prediction), an lm_head
    that the config ties to the embedding. float32 weights are cast to the model's 16 bits.
    """
    kept: Counter[str] = Counter()
    skipped = embedding = lm_head = parameters = 0
    for name, stored in tensors.items():
        if _is_left_out(name, model):
            skipped += stored.size
            continue
        dtype, size = _as_loaded(name, stored, model.dtype)
        kept[dtype] += size
        parameters += _elements(stored)
        is_tower = _VISION.search(name) is not None
        embedding += size if _EMBEDDING.search(name) and not is_tower else 0
        lm_head += size if _LM_HEAD.search(name) else 0
    packed = model.quantization is not None
    return estimate._replace(
        total_bytes=sum(kept.values()),
        by_dtype=dict(kept),
        exact=True,
        embedding_bytes=embedding or estimate.embedding_bytes,
        lm_head_bytes=lm_head,
        parameters=estimate.parameters if packed else parameters,
        skipped_bytes=skipped,
        source="safetensors headers",
    )


def _is_left_out(name: str, model: Model) -> bool:
    if _EXTRA.search(name) or (model.tied and _LM_HEAD.search(name)):
        return True
    found = _LAYER.search(name)
    is_decoder = found is not None and not _VISION.search(name)
    return is_decoder and int(found.group(1)) >= len(model.layers) if found else False


def _as_loaded(name: str, stored: Stored, dtype: str | None) -> tuple[str, int]:
    is_weight = _CAST.search(name) is not None and len(stored.shape) > 0
    if stored.dtype in ("F32", "F64") and is_weight and "A_log" not in name:
        width = {"F32": 4, "F64": 8}[stored.dtype]
        return _DTYPE_NAMES.get(dtype, "BF16") if dtype != "float32" else "BF16", (
            stored.size * 2 // width
        )
    return stored.dtype, stored.size


def _elements(stored: Stored) -> int:
    count = 1
    for size in stored.shape:
        count *= size
    return count
