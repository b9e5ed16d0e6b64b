"""How the tensors in a checkpoint are quantised, told from their names, dtypes and shapes alone.

Layouts: AutoAWQ and AutoGPTQ (qweight of int32, `scales`), compressed-tensors (`weight_packed`),
fp8 and ModelOpt (`weight_scale`), bitsandbytes (`absmax`), gpt-oss (`_blocks`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from flashdoctor.tune.safetensors import Stored

_WORD = 32
_MATRIX = 2


class Packing(NamedTuple):
    """The method that the tensors look like; bits and group size where shapes tell them."""

    method: str
    bits: int | None = None
    group_size: int | None = None


NONE = Packing("none")


def read_packing(tensors: Mapping[str, Stored], bits: int | None = None) -> Packing:
    """Return the packing that most matrices have, `none` where all are plain.

    `bits`: what the config says, for layouts whose shapes alone leave the group size open.
    """
    found = Counter(_packings(tensors, bits))
    return max(found, key=lambda packing: found[packing]) if found else NONE


def _packings(tensors: Mapping[str, Stored], bits: int | None) -> Iterable[Packing]:
    for name, stored in tensors.items():
        if name.endswith(".qweight"):
            yield _integers(tensors, name.removesuffix("qweight"), stored)
        elif name.endswith(".weight_packed"):
            yield _compressed(tensors, name.removesuffix("_packed"), stored, bits)
        elif name.endswith("_blocks") and stored.dtype == "U8":
            yield Packing("mxfp4", 4, _WORD)
        elif name.endswith(".weight"):
            yield from _bytes(tensors, name, stored)


def _integers(tensors: Mapping[str, Stored], base: str, packed: Stored) -> Packing:
    """Tell AWQ, which packs outputs, from GPTQ, which packs inputs."""
    scales, zeros = tensors.get(f"{base}scales"), tensors.get(f"{base}qzeros")
    if scales is None or not _are_matrices(packed, scales):
        return Packing("gptq")
    groups, outputs = scales.shape
    if packed.shape[1] < outputs:
        bits = _WORD * packed.shape[1] // outputs
        return Packing("awq", bits, _group(packed.shape[0], groups))
    if zeros is None or not _are_matrices(zeros, scales):
        return Packing("gptq")
    bits = _WORD * zeros.shape[1] // outputs
    inputs = packed.shape[0] * _WORD // bits if bits else 0
    return Packing("gptq", bits or None, _group(inputs, groups))


def _are_matrices(*stored: Stored) -> bool:
    return all(len(item.shape) == _MATRIX and min(item.shape) > 0 for item in stored)


def _group(inputs: int, groups: int) -> int | None:
    """Return the inputs of a group, -1 where a whole row is one."""
    if inputs <= 0:
        return None
    return -1 if groups == 1 else inputs // groups


def _compressed(
    tensors: Mapping[str, Stored], base: str, packed: Stored, bits: int | None
) -> Packing:
    scale = tensors.get(f"{base}_scale")
    if packed.dtype == "U8":
        return Packing("compressed-tensors", 4, 16)
    if scale is None or not bits or not _are_matrices(packed, scale):
        return Packing("compressed-tensors")
    return Packing(
        "compressed-tensors", None, _group(packed.shape[1] * _WORD // bits, scale.shape[1])
    )


def _bytes(tensors: Mapping[str, Stored], name: str, stored: Stored) -> Iterable[Packing]:
    if stored.dtype in ("F8_E4M3", "F8_E5M2"):
        yield Packing("fp8", 8)
    elif stored.dtype == "U8" and f"{name}.absmax" in tensors:
        yield Packing("bitsandbytes", 4)
    elif stored.dtype == "I8" and f"{name.removesuffix('weight')}SCB" in tensors:
        yield Packing("bitsandbytes", 8)
    elif stored.dtype == "I8":
        yield Packing("compressed-tensors", 8)
    elif stored.dtype == "U8" and f"{name}_scale" in tensors:
        yield Packing("modelopt", 4, 16)
