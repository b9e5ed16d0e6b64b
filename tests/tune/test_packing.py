from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.tune.packing import NONE, Packing, read_packing
from flashdoctor.tune.safetensors import Stored


def stored(dtype: str, *shape: int) -> Stored:
    return Stored(dtype, shape, 0)


def awq(bits: int, group: int) -> dict[str, Stored]:
    packed = 256 * bits // 32
    return {
        "l.qweight": stored("I32", 512, packed),
        "l.qzeros": stored("I32", 512 // group, packed),
        "l.scales": stored("F16", 512 // group, 256),
    }


def gptq(bits: int, group: int) -> dict[str, Stored]:
    groups = 1 if group == -1 else 512 // group
    return {
        "l.qweight": stored("I32", 512 * bits // 32, 256),
        "l.qzeros": stored("I32", groups, 256 * bits // 32),
        "l.scales": stored("F16", groups, 256),
    }


@pytest.mark.parametrize("group", [64, 128])
def test_awq_packs_outputs(group: int) -> None:
    assert read_packing(awq(4, group)) == Packing("awq", 4, group)


@pytest.mark.parametrize(("bits", "group"), [(4, 128), (4, 32), (8, 128), (2, 64), (8, -1)])
def test_gptq_packs_inputs(bits: int, group: int) -> None:
    assert read_packing(gptq(bits, group)) == Packing("gptq", bits, group)


def test_compressed_tensors_leave_the_group_to_the_config() -> None:
    tensors = {
        "l.weight_packed": stored("I32", 256, 64),
        "l.weight_scale": stored("BF16", 256, 4),
    }
    assert read_packing(tensors, 4) == Packing("compressed-tensors", None, 128)
    assert read_packing(tensors) == Packing("compressed-tensors")


@pytest.mark.parametrize(
    ("tensors", "expected"),
    [
        ({"l.weight": stored("BF16", 8, 8)}, NONE),
        ({"l.weight": stored("F8_E4M3", 8, 8), "n.weight": stored("BF16", 8)}, Packing("fp8", 8)),
        (
            {"l.weight": stored("U8", 32, 1), "l.weight.absmax": stored("U8", 1)},
            Packing("bitsandbytes", 4),
        ),
        ({"l.weight": stored("I8", 8, 8), "l.SCB": stored("F32", 8)}, Packing("bitsandbytes", 8)),
        (
            {"l.weight": stored("I8", 8, 8), "l.weight_scale": stored("F32", 8)},
            Packing("compressed-tensors", 8),
        ),
        (
            {"l.weight": stored("U8", 8, 4), "l.weight_scale": stored("F8_E4M3", 8, 1)},
            Packing("modelopt", 4, 16),
        ),
        ({"e.gate_up_proj_blocks": stored("U8", 2, 8, 4, 16)}, Packing("mxfp4", 4, 32)),
        ({}, NONE),
    ],
)  # fmt: skip
def test_the_other_formats(tensors: dict[str, Stored], expected: Packing) -> None:
    assert read_packing(tensors) == expected


NAMES = st.sampled_from(
    ["l.qweight", "l.scales", "l.qzeros", "l.weight", "l.weight_packed", "l.weight_scale"]
)
TENSORS = st.builds(
    Stored,
    st.sampled_from(["I32", "U8", "F16", "I8"]),
    st.lists(st.integers(0, 64), max_size=3).map(tuple),
    st.just(0),
)


@given(st.dictionaries(NAMES, TENSORS), st.none() | st.integers(1, 64))
def test_any_shapes_give_an_answer(tensors: dict[str, Stored], bits: int | None) -> None:
    packing = read_packing(tensors, bits)
    assert packing.bits is None or packing.bits >= 1
