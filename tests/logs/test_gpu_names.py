from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.gpu_names import find_count, find_gpus, is_gpu_row, whole_words


@pytest.mark.parametrize(
    ("text", "name", "number"),
    [
        ("8xH100", "H100", 8),
        ("RTX 4090 x 2", "RTX 4090", 2),
        ("RTX 4090 (x2)", "RTX 4090", 2),
        ("2 x A100-SXM4-80GB", "A100-SXM4-80GB", 2),
        ("4*A800", "A800", 4),
        ("8 H100s", "H100", 8),
        ("2x 3090 Ti", "3090 Ti", 2),
        ("4090 x2", "4090", 2),
        ("Tesla V100-SXM2-32GB", "Tesla V100-SXM2-32GB", None),
        ("NVIDIA T4", "NVIDIA T4", None),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", "NVIDIA GeForce RTX 3060 Laptop GPU", None),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
         "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", None),
        ("NVIDIA TITAN X (Pascal)", "NVIDIA TITAN X (Pascal)", None),
        ("Jetson AGX Orin", "Jetson AGX Orin", None),
        ("my GTX 1660 TI", "GTX 1660 TI", None),
    ],
)  # fmt: skip
def test_a_name_in_a_text(text: str, name: str, number: int | None) -> None:
    [mention] = find_gpus(text)
    assert (mention.name, mention.number) == (name, number)
    assert mention.name.split()[0] in text[mention.start : mention.end]


@pytest.mark.parametrize(
    "text", ["sm_A100", "model-a100/x", "T4", "3090", "version 4090", "A1000x"]
)
def test_what_is_no_gpu_without_a_label(text: str) -> None:
    assert list(find_gpus(text)) == []


@pytest.mark.parametrize(
    ("text", "name"), [("T4", "T4"), ("3090 Ti", "3090 Ti"), ("2080ti", "2080ti"), ("L4", "L4")]
)
def test_a_label_allows_short_names(text: str, name: str) -> None:
    assert [mention.name for mention in find_gpus(text, labelled=True)] == [name]


@pytest.mark.parametrize(
    ("text", "number"),
    [("8x NVLink (NV18) GPUs", 8), ("2 GPUs", 2), ("1 GPU", 1), ("4x GPU", 4), ("GPU 0", None),
     ("80GB GPU", None), ("80 GB GPUs", None), ("RTX 3060 Laptop GPU", None)],
)  # fmt: skip
def test_a_count_without_a_name(text: str, number: int | None) -> None:
    assert find_count(text) == number


@pytest.mark.parametrize(
    ("name", "certain"),
    [("NVIDIA A100-SXM...", "NVIDIA A100"), ("NVIDIA GeForce ...", None), ("Tesla T4", "Tesla T4"),
     ("NVIDIA GeForce RTX 3060 ...", "NVIDIA GeForce RTX 3060"),
     ("NVIDIA RTX 6000 Ada Gene...", "NVIDIA RTX 6000 Ada"), ("Tesla V100-SXM2...", "Tesla V100")],
)  # fmt: skip
def test_what_is_certain_of_a_cut_name(name: str, certain: str | None) -> None:
    assert whole_words(name) == certain


def test_a_cell_that_can_be_a_gpu() -> None:
    assert all(map(is_gpu_row, ["NVIDIA H200", "Orin (nvgpu)", "Graphics Device", "A100", "T4"]))
    assert not any(map(is_gpu_row, ["Python 3.11", "name", "", "an A100"]))


@given(st.text(), st.booleans())
def test_any_text_is_survived(text: str, labelled: bool) -> None:
    for mention in find_gpus(text, labelled=labelled):
        assert 0 <= mention.start < mention.end <= len(text)
    find_count(text)
    whole_words(text)
