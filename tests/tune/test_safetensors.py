from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.errors import InputError
from flashdoctor.tune.safetensors import (
    MOST_HEADER,
    Stored,
    header_length,
    parse_header,
    parse_index,
)


def entry(dtype: str, shape: list[int], start: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def header(**tensors: Any) -> bytes:
    return json.dumps(tensors).encode()


def test_a_header_gives_names_dtypes_and_sizes() -> None:
    data = header(
        a=entry("BF16", [2, 3], 0, 12), b=entry("F32", [], 12, 16), __metadata__={"x": "y"}
    )
    found = parse_header(data, "m.safetensors")
    assert found.tensors == {"a": Stored("BF16", (2, 3), 12), "b": Stored("F32", (), 4)}
    assert found.data_end == 8 + len(data) + 16
    assert found.overlaps == ()


def test_tensors_on_the_same_bytes_are_named() -> None:
    data = header(a=entry("U8", [8], 0, 8), b=entry("U8", [8], 4, 12), c=entry("U8", [2], 12, 14))
    assert parse_header(data, "m").overlaps == ("a and b",)


def test_a_dtype_of_tomorrow_is_taken_by_its_bytes() -> None:
    assert parse_header(header(a=entry("F3", [9], 0, 4)), "m").tensors["a"].size == 4


@pytest.mark.parametrize(
    "data",
    [
        b"[]",
        b"{",
        b"\xff",
        header(a=3),
        header(a=entry("BF16", [2, 3], 0, 11)),
        header(a=entry("BF16", [-2, 3], 0, 12)),
        header(a=entry("BF16", [2, 3], 12, 0)),
        header(a={"dtype": "BF16", "shape": [1], "data_offsets": [0]}),
        header(a={"dtype": "BF16", "shape": "1", "data_offsets": [0, 2]}),
        header(a={"dtype": 1, "shape": [1], "data_offsets": [0, 2]}),
    ],
)
def test_a_wrong_header_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"m\.safetensors"):
        parse_header(data, "m.safetensors")


@pytest.mark.parametrize(
    ("prefix", "says"),
    [
        (b"\x01", "cut off"),
        (b"version ", "no safetensors file"),  # how a Git LFS pointer begins
        ((0).to_bytes(8, "little"), "no safetensors file"),
        ((MOST_HEADER + 1).to_bytes(8, "little"), "no safetensors file"),
    ],
)
def test_a_wrong_beginning_is_refused(prefix: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        header_length(prefix, "m.safetensors")


def test_an_index_names_files_and_a_total() -> None:
    text = json.dumps({"metadata": {"total_size": 12.0}, "weight_map": {"a": "m-1.safetensors"}})
    assert parse_index(text) == ({"a": "m-1.safetensors"}, 12)
    assert parse_index('{"weight_map": {}}').total_bytes is None


@pytest.mark.parametrize("file", ["../x", "/etc/passwd", "", "..", ".", "a\\b", 3, None])
def test_an_index_cannot_name_files_elsewhere(file: Any) -> None:
    with pytest.raises(InputError, match="weight_map"):
        parse_index(json.dumps({"weight_map": {"a": file}}))


SIZES = st.lists(st.integers(-1, 9), max_size=3)
ENTRY = st.fixed_dictionaries(
    {"dtype": st.sampled_from(["BF16", "F4", "U8", "ZZ"]), "shape": SIZES, "data_offsets": SIZES}
)


@given(st.dictionaries(st.text(max_size=5), ENTRY | st.integers(), max_size=4))
def test_any_header_is_read_or_refused(tensors: dict[str, Any]) -> None:
    try:
        found = parse_header(json.dumps(tensors).encode(), "m")
    except InputError:
        return
    assert all(item.size >= 0 for item in found.tensors.values())


@given(st.binary(max_size=64))
def test_any_bytes_are_refused_with_a_word(data: bytes) -> None:
    with pytest.raises(InputError):
        parse_header(data + b"!", "m")


@given(st.text(max_size=64))
def test_any_text_is_no_index(text: str) -> None:
    with pytest.raises(InputError):
        parse_index(text)
