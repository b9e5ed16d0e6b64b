"""`quantization_config` of a model, and how many bytes a matrix takes under it.

Layouts: vLLM 0.25, model_executor/layers/quantization (auto_awq.py, auto_gptq.py, fp8.py,
compressed_tensors, modelopt.py, mxfp4.py, bitsandbytes.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from flashdoctor.model.llm import Quantization
from flashdoctor.tune.fields import Fields

_ALIASES: Mapping[str, str] = {
    "awq_marlin": "awq",
    "auto_awq": "awq",
    "gptq_marlin": "gptq",
    "auto_gptq": "gptq",
    "auto-round": "gptq",
    "intel/auto-round": "gptq",
    "compressed_tensors": "compressed-tensors",
    "modelopt_fp4": "modelopt",
    "modelopt_mixed": "modelopt",
    "gpt_oss_mxfp4": "mxfp4",
}
_BITS: Mapping[str, int] = {
    "awq": 4, "gptq": 4, "fp8": 8, "fbgemm_fp8": 8, "mxfp4": 4, "mxfp8": 8, "experts_int8": 8,
    "nvfp4": 4, "ptpc_fp8": 8, "fp_quant": 4,
}  # fmt: skip
_SKIPPED = (
    "modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules", "exclude",
    "llm_int8_skip_modules",
)  # fmt: skip
_ROW = -1
_MXFP4_GROUP = 32
_NVFP4_GROUP = 16
_BNB_BLOCK = 64
_FP32 = 4
_HALF = 2
_BYTE = 8


class Layout(NamedTuple):
    """How a quantised matrix is stored: bits of a weight, and what stands beside the weights.

    `scale_bytes` for each group of `group` inputs (-1: one per output, 0: one per matrix) and, with
    `block_rows`, for that many outputs at once. `zero_bits`: bits of a zero point for each group.
    `order`: four bytes for each input, for an activation order.
    """

    bits: float
    group: int = 0
    scale_bytes: int = _FP32
    block_rows: int = 1
    zero_bits: int = 0
    order: bool = False

    def size(self, rows: int, columns: int) -> int:
        """Return the bytes of a matrix of `rows` outputs and `columns` inputs."""
        weights = -(-rows * columns * self.bits // _BYTE)
        if self.group == 0:
            return int(weights) + self.scale_bytes
        groups = 1 if self.group == _ROW else -(-columns // self.group)
        scales = groups * -(-rows // self.block_rows)
        zeros = -(-groups * rows * self.zero_bits // _BYTE)
        return int(weights) + scales * self.scale_bytes + zeros + (columns * 4 if self.order else 0)


def read_quantization(fields: Fields) -> Quantization | None:
    """Return how the first of `config_groups` stores weights (compressed-tensors, ModelOpt)."""
    part = fields.part("quantization_config", "compression_config")
    if part is None or not part.body:
        return None
    method = _method(part)
    weights = _weights(part)
    bits, group = (
        weights.whole("num_bits"), weights.whole("group_size", least=_ROW)
    ) if weights else (_bits(part, method), _group_size(part, method))  # fmt: skip
    if weights is not None and group is None:
        group = {"channel": _ROW, "tensor": None}.get(weights.text("strategy") or "")
    return Quantization(method=method, bits=bits, group_size=group, details=part.body)


def by_its_name(text: str) -> str:
    """Return a method by vLLM's plain name: `awq_marlin` runs the checkpoints of `awq`."""
    name = text.lower()
    return _ALIASES.get(name, name)


def _method(part: Fields) -> str:
    name = by_its_name(part.text("quant_method") or "")
    if not name and (part.get("load_in_4bit") or part.get("load_in_8bit")):
        return "bitsandbytes"
    if not name and part.get("config_groups"):
        return "compressed-tensors"
    return name or "unknown"


def _weights(part: Fields) -> Fields | None:
    """Return how the first of `config_groups` stores weights (compressed-tensors, ModelOpt)."""
    group = _first_group(part)
    return group.part("weights") if group else None


def _inputs(part: Fields) -> Fields | None:
    """Return what the same group makes of activations, None where they stay as they are."""
    group = _first_group(part)
    return group.part("input_activations") if group else None


def _first_group(part: Fields) -> Fields | None:
    groups = part.part("config_groups")
    if groups is None:
        return None
    found = (groups.part(name) for name in groups.body)
    return next((group for group in found if group and group.part("weights")), None)


def _bits(part: Fields, method: str) -> int | None:
    if method == "bitsandbytes":
        return 8 if part.flag("load_in_8bit") and not part.flag("load_in_4bit") else 4
    if method == "modelopt":
        return 4 if "FP4" in (part.text("quant_algo") or "FP8").upper() else 8
    return part.whole("bits", "w_bit", "nbits", "weight_bits", least=1, most=64) or _BITS.get(
        method
    )


def _group_size(part: Fields, method: str) -> int | None:
    if method == "bitsandbytes":
        return _BNB_BLOCK if _bits(part, method) == _BITS["awq"] else None
    found = part.whole("group_size", "q_group_size", least=_ROW)
    if found is None and method in ("awq", "gptq"):
        return 128
    if method == "mxfp4":
        return _MXFP4_GROUP
    is_nvfp4 = method == "modelopt" and _bits(part, method) == _BITS["nvfp4"]
    return found or (_NVFP4_GROUP if is_nvfp4 else None)


def layout_of(quantization: Quantization) -> Layout | None:
    """Return how matrices are stored, None for an unknown method that is silent about its bits."""
    bits, group, details = quantization.bits, quantization.group_size, quantization.details
    if bits is None:
        return None
    if quantization.method in ("awq", "gptq"):
        return Layout(
            bits=bits,
            group=group or _ROW,
            scale_bytes=_HALF,
            zero_bits=bits,
            order=bool(details.get("desc_act")),
        )
    maker = _LAYOUTS.get(quantization.method)
    if maker is not None:
        return maker(quantization)
    return Layout(bits=bits, group=group or 0, scale_bytes=_HALF)


def _fp8(quantization: Quantization) -> Layout:
    block = quantization.details.get("weight_block_size")
    if isinstance(block, list) and len(block) == 2 and all(_is_size(size) for size in block):  # noqa: PLR2004 - rows, columns
        return Layout(bits=8, group=block[1], block_rows=block[0])
    return Layout(bits=8)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _compressed(quantization: Quantization) -> Layout:
    bits = quantization.bits or 16
    weights = _weights(Fields(quantization.details)) or Fields({})
    group = quantization.group_size or 0
    if weights.text("strategy") == "block":
        return _fp8(
            quantization._replace(details={"weight_block_size": weights.get("block_structure")})
        )
    if bits == _BITS["nvfp4"] and weights.text("type") == "float":
        return Layout(bits=bits, group=group or _NVFP4_GROUP, scale_bytes=1)
    zeros = 0 if weights.flag("symmetric", default=True) else bits
    scale = _FP32 if bits == _BYTE and group in (0, _ROW) else _HALF
    return Layout(bits=bits, group=group, scale_bytes=scale, zero_bits=zeros)


def _modelopt(quantization: Quantization) -> Layout:
    if quantization.bits == _BITS["nvfp4"]:
        return Layout(bits=4, group=quantization.group_size or _NVFP4_GROUP, scale_bytes=1)
    return Layout(bits=8)


def _bitsandbytes(quantization: Quantization) -> Layout:
    if quantization.bits == _BYTE:
        return Layout(bits=8, group=_ROW)
    return Layout(bits=4, group=_BNB_BLOCK)


_LAYOUTS: Mapping[str, Callable[[Quantization], Layout]] = {
    "fp8": _fp8,
    "fbgemm_fp8": lambda _: Layout(bits=8, group=_ROW),
    "ptpc_fp8": lambda _: Layout(bits=8, group=_ROW),
    "compressed-tensors": _compressed,
    "modelopt": _modelopt,
    "bitsandbytes": _bitsandbytes,
    "mxfp4": lambda _: Layout(bits=4, group=_MXFP4_GROUP, scale_bytes=1),
    "experts_int8": lambda _: Layout(bits=8, group=_ROW),
}

_SCHEMES: Mapping[str, str] = {
    "fp8": "fp8-w8a8", "ptpc_fp8": "fp8-w8a8", "fbgemm_fp8": "fp8-w8a8", "mxfp4": "mxfp4-w4a16",
    "mxfp8": "mxfp8-w8a8", "experts_int8": "int8-w8a16",
}  # fmt: skip


def scheme_of(quantization: Quantization) -> str | None:
    """Return types of weights and activations: `fp8-w8a8`, `int4-w4a16`; None where not known."""
    method, bits = quantization.method, quantization.bits
    if method == "modelopt":
        return "nvfp4-w4a4" if bits == _BITS["nvfp4"] else "fp8-w8a8"
    if method == "compressed-tensors":
        return _compressed_scheme(quantization)
    if method in ("awq", "gptq") and bits:
        return f"int{bits}-w{bits}a16"
    return _SCHEMES.get(method)


def scheme_of_method(method: str) -> str | None:
    """Return the scheme of a method that has one only, None where the checkpoint decides."""
    return _SCHEMES.get(method)


def _compressed_scheme(quantization: Quantization) -> str | None:
    """Return the scheme of the first group: what the activations are decides beside the weights."""
    weights = _weights(Fields(quantization.details))
    bits = quantization.bits
    if weights is None or bits not in (4, 8):
        return None
    inputs = _inputs(Fields(quantization.details))
    small = (inputs.whole("num_bits") or 16) if inputs else 16
    if weights.text("type") == "float":
        name = "fp8" if bits == _BYTE else _float4(weights)
    else:
        name = f"int{bits}"
    return f"{name}-w{bits}a{small}"


def _float4(weights: Fields) -> str:
    return "mxfp4" if weights.whole("group_size") == _MXFP4_GROUP else "nvfp4"


EXPERTS_ONLY = frozenset({"mxfp4", "experts_int8"})
"""These leave everything but the experts as it is."""


def skipped_modules(quantization: Quantization) -> tuple[str, ...]:
    """Return the names and patterns of modules that the method leaves as they are."""
    details = Fields(quantization.details)
    found: Iterable[Any] = details.find(*_SKIPPED)[1] or ()
    return tuple(item for item in found if isinstance(item, str)) if isinstance(found, list) else ()


def is_skipped(module: str, patterns: Iterable[str]) -> bool:
    """Whether a module (`model.layers.0.mlp.down_proj`) is left as it is, by any of the patterns.

    Patterns are names, parts of names, names with `*`, or `re:` and a regular expression. Names may
    have a prefix of their own before `layers.`, as in vision models.
    """
    return any(_matches(module, pattern) for pattern in patterns)


_LONGEST_PATTERN = 200
_VISION = ("vis", "multi_modal", "audio")


def _matches(module: str, pattern: str) -> bool:
    if len(pattern) > _LONGEST_PATTERN or any(word in pattern for word in _VISION):
        return False
    if pattern.startswith("re:"):
        try:
            return re.match(pattern[3:], module) is not None
        except re.error:
            return False
    if "*" in pattern:
        parts = (re.escape(part) for part in pattern.split("*"))
        return re.match("[^ ]*".join(parts), module) is not None
    head, found, tail = pattern.strip(".").partition("layers.")
    bare = found + tail if found else head
    return bool(bare) and f".{bare}." in f".{module}."
