from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data import lookup
from flashdoctor.data.tables import Tables, load_tables

ROWS: list[dict[str, Any]] = load_tables().compat("gpus")["gpu"]
NAMES = [row["name"] for row in ROWS]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_its_own_row(tables: Tables, name: str) -> None:
    bare = name.removeprefix("NVIDIA ")
    for text in (name, bare, f"NVIDIA {bare}", bare.upper(), bare.lower(), f"  {name} "):
        found = lookup.gpu(tables, text)
        assert found is not None, text
        assert found["name"] == name


@pytest.mark.parametrize("name", [name for name in NAMES if "GeForce" in name or "Tesla" in name])
def test_the_brand_may_be_left_out(tables: Tables, name: str) -> None:
    bare = name.replace("NVIDIA ", "").replace("GeForce ", "").replace("Tesla ", "")
    found = lookup.gpu(tables, bare)
    assert found is not None
    assert found["name"] == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("T4", "Tesla T4"),
        ("L4", "NVIDIA L4"),
        ("L40S", "NVIDIA L40S"),
        ("A10G", "NVIDIA A10G"),
        ("A6000", "NVIDIA RTX A6000"),
        ("rtx 4090", "NVIDIA GeForce RTX 4090"),
        ("RTX4090", "NVIDIA GeForce RTX 4090"),
        ("4090", "NVIDIA GeForce RTX 4090"),
        ("RTX 4090 24GB", "NVIDIA GeForce RTX 4090"),
        ("RTX 4090 24 GB", "NVIDIA GeForce RTX 4090"),
        ("A100 SXM4 80GB", "NVIDIA A100-SXM4-80GB"),
        ("Tesla V100-SXM2-16GB", "Tesla V100-SXM2-16GB"),
        ("RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation"),
        ("RTX 8000", "Quadro RTX 8000"),
        ("RTX 3060 Laptop", "NVIDIA GeForce RTX 3060 Laptop GPU"),
        ("4070 Ti Super", "NVIDIA GeForce RTX 4070 Ti SUPER"),
        ("B300", "NVIDIA B300 SXM6 AC"),
        ("DGX Spark", "NVIDIA GB10"),
        ("Orin (nvgpu)", "Orin"),
    ],
)
def test_the_ways_people_write_a_name(tables: Tables, text: str, name: str) -> None:
    found = lookup.gpu(tables, text)
    assert found is not None
    assert found["name"] == name


@pytest.mark.parametrize(
    ("text", "capability", "memory"),
    [
        ("A100", "8.0", None),
        ("A100 80GB", "8.0", 80),
        ("V100", "7.0", None),
        ("V100 32GB", "7.0", 32),
        ("H100", "9.0", None),
        ("H100 SXM5 80GB", "9.0", 80),
        ("GH200", "9.0", None),
        ("RTX PRO 6000", "12.0", 96),
    ],
)
def test_a_name_of_several_gives_what_they_agree_on(
    tables: Tables, text: str, capability: str, memory: int | None
) -> None:
    found = lookup.gpu(tables, text)
    assert found is not None
    assert "name" not in found
    assert found["compute_capability"] == capability
    assert found.get("memory_gib") == memory


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "RTX", "RTX 40", "RTX 6000", "RTX 4000", "RTX 5000", "6000", "NVIDIA", "Tesla",
        "80GB", "Laptop GPU", "Ada Generation", "SXM4", "A100Z", "GTX 1180 Ti", "Radeon RX 7900",
        "NVIDIA Graphics Device", "GRID T4-16Q", "RTX 4090 Ti", "MIG 1g.5gb", "RTX 9090",
    ],
)  # fmt: skip
def test_nothing_is_guessed(tables: Tables, text: str) -> None:
    assert lookup.gpu(tables, text) is None


def test_names_that_differ_in_capability_are_still_listed(tables: Tables) -> None:
    capabilities = {row["compute_capability"] for row in lookup.gpus(tables, "RTX 6000")}
    assert capabilities == {"7.5", "8.9", "12.0"}


def test_a_mig_slice_has_the_capability_but_not_the_memory_of_its_gpu(tables: Tables) -> None:
    found = lookup.gpu(tables, "NVIDIA A100-SXM4-40GB MIG 1g.5gb")
    assert found is not None
    assert (found["name"], found["compute_capability"]) == ("NVIDIA A100-SXM4-40GB", "8.0")
    assert "memory_gib" not in found
    assert "sm_count" not in found


def test_a_size_that_the_row_does_not_have_takes_its_figures_away(tables: Tables) -> None:
    found = lookup.gpu(tables, "GeForce RTX 3060 8GB")
    assert found is not None
    assert found["name"] == "NVIDIA GeForce RTX 3060"
    assert "memory_gib" not in found


@given(st.text())
def test_no_text_breaks_the_lookup(text: str) -> None:
    found = lookup.gpu(load_tables(), text)
    assert found is None or found["compute_capability"]


WORDS = sorted({word for name in NAMES for word in name.replace("-", " ").split()})


@given(st.lists(st.sampled_from([*WORDS, "MIG", "8GB", "9" * 5000 + "GB"]), max_size=5))
def test_one_row_is_given_where_and_only_where_the_capability_is_certain(words: list[str]) -> None:
    text = " ".join(words)
    found = lookup.gpus(load_tables(), text)
    capabilities = {row["compute_capability"] for row in found}
    one = lookup.gpu(load_tables(), text)
    assert (one is None) == (len(capabilities) != 1)


@pytest.mark.parametrize(
    ("text", "name"),
    [("2080ti", "2080 Ti"), ("RTX 4070Ti SUPER", "4070 Ti SUPER"), ("rtx4070super", "4070 SUPER")],
)
def test_a_suffix_may_stick_to_its_number(tables: Tables, text: str, name: str) -> None:
    row, whole = lookup.gpu(tables, text), lookup.gpu(tables, f"GeForce RTX {name}")
    assert row is not None
    assert whole is not None
    assert row["compute_capability"] == whole["compute_capability"]
