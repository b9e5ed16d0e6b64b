from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data import lookup
from flashdoctor.data.tables import Tables, load_tables
from flashdoctor.model.versions import Capability, minor


def test_arch(tables: Tables) -> None:
    hopper = lookup.arch(tables, Capability(9, 0))
    assert hopper is not None
    assert (hopper["name"], hopper["flash_attn3"]) == ("Hopper", True)
    assert lookup.arch(tables, Capability(9, 9)) is None


def test_torch_release_is_exact(tables: Tables) -> None:
    found = lookup.torch_release(tables, "2.6.0+cu126")
    assert found is not None
    assert found["version"] == "2.6.0"
    assert lookup.torch_release(tables, "2.6") is found
    for other in ("2.6.9", "2.6.0a0+git1234", "2.6.0.dev20250101", "2.6.0rc1", "", "new"):
        assert lookup.torch_release(tables, other) is None


def test_torch_minor_release_is_the_newest_of_its_series(tables: Tables) -> None:
    found = lookup.torch_minor_release(tables, "2.5.0a0+872d972e41.nv24.08")
    assert found is not None
    assert found["version"] == "2.5.1"
    assert lookup.torch_minor_release(tables, "3.7") is None
    assert lookup.torch_minor_release(tables, "unknown") is None


@pytest.mark.parametrize(
    ("version", "cuda", "abi"),
    [("2.6.0+cu124", "12.4", "pre-cxx11"), ("2.6.0", "12.6", "cxx11"), ("2.7.1", "11.8", "cxx11")],
)
def test_torch_variant(tables: Tables, version: str, cuda: str, abi: str) -> None:
    found = lookup.torch_variant(tables, version, cuda=cuda)
    assert found is not None
    assert found["cxx11_abi"] == abi


def test_no_torch_variant_where_none_was_published(tables: Tables) -> None:
    assert lookup.torch_variant(tables, "2.6.0", cuda="12.8") is None
    assert lookup.torch_variant(tables, "2.6.0", cuda="") is None
    assert lookup.torch_variant(tables, "", cuda="12.4") is None


def test_flash_attn_release_knows_post_releases(tables: Tables) -> None:
    plain = lookup.flash_attn_release(tables, "2.7.4")
    post = lookup.flash_attn_release(tables, "2.7.4.post1")
    assert plain is not None
    assert post is not None
    assert (plain["version"], post["version"]) == ("2.7.4", "2.7.4.post1")
    assert lookup.flash_attn_release(tables, "2.7.4.post9") is None


def test_vllm_release_is_the_row_of_its_minor(tables: Tables) -> None:
    found = lookup.vllm_release(tables, "0.10.0+cu129")
    assert found is not None
    assert found["version"] == "0.10.2"
    assert lookup.vllm_release(tables, "0.1.2") is None


@pytest.mark.parametrize(
    ("version", "torch"),
    [
        ("0.4.0.post1", "2.1.2"),
        ("0.4.1", "2.2.1"),
        ("0.10.1.1", "2.7.1"),
        ("0.10.2", "2.8.0"),
        ("0.20.0+cu130", "2.11.0"),
        ("0.33.0", "2.14.0"),
        ("0.33.1", None),
        ("0.1.0", None),
        ("main", None),
    ],
)
def test_vllm_torch_pin_is_exact_by_patch_release(
    tables: Tables, version: str, torch: str | None
) -> None:
    assert lookup.vllm_torch_pin(tables, version) == torch


def test_transformers_release_is_the_row_of_its_minor(tables: Tables) -> None:
    found = lookup.transformers_release(tables, "4.57.1")
    assert found is not None
    assert found["minor"] == "4.57"
    assert lookup.transformers_release(tables, "3.0.0") is None


def test_drivers(tables: Tables) -> None:
    branch = lookup.driver_branch(tables, 535)
    floor = lookup.cuda_floor(tables, 12)
    assert branch is not None
    assert floor is not None
    assert (branch["nvidia_smi_cuda_version"], branch["kind"]) == ("12.2", "LTS")
    assert (floor["min_linux"], floor["min_windows"]) == ("525.60.13", "528.33")
    assert lookup.driver_branch(tables, 536) is None
    assert lookup.cuda_floor(tables, 14) is None


@given(st.text(max_size=12) | st.from_regex(r"\d{1,3}\.\d{1,3}(\.\w{1,4}){0,2}(\+\w+)?"))
def test_no_version_breaks_a_lookup(version: str) -> None:
    tables = load_tables()
    for find in (
        lookup.torch_release,
        lookup.torch_minor_release,
        lookup.flash_attn_release,
        lookup.vllm_release,
        lookup.transformers_release,
    ):
        found = find(tables, version)
        assert found is None or minor(found["version"]) == minor(f"{version}.0")
    assert lookup.torch_variant(tables, version, cuda=version) is None
    assert lookup.vllm_torch_pin(tables, version) is None or "." in version


@pytest.mark.parametrize(
    ("text", "glibc"),
    [
        ("Ubuntu 20.04.6 LTS", "2.31"),
        ("ubuntu22.04", "2.35"),
        ("Debian GNU/Linux 12", "2.36"),
        ("Red Hat Enterprise Linux 8.9 (Ootpa)", "2.28"),
        ("Rocky Linux 9.4", "2.34"),
        ("CentOS Stream 9", "2.34"),
        ("Amazon Linux 2", "2.26"),
        ("Amazon Linux 2023", "2.34"),
        ("openSUSE Leap 15.6", "2.38"),
        ("Ubuntu", None),
        ("Debian 1", None),
        ("Arch Linux", None),
        ("Windows 11", None),
        ("", None),
    ],
)
def test_distribution_is_found_as_people_write_it(
    tables: Tables, text: str, glibc: str | None
) -> None:
    row = lookup.distribution(tables, text)
    assert (row and row["glibc"]) == glibc


@pytest.mark.parametrize(
    ("image", "torch"),
    [
        ("nvcr.io/nvidia/pytorch:24.05-py3", "2.4.0a0+07cecf4168"),
        ("nvidia/pytorch:25.12-py3", "2.10.0a0+b4e4ee81d3"),
        ("nvcr.io/nvidia/pytorch:24.10-py3-igpu", "2.5.0a0+e000cf0ad9"),
    ],
)
def test_an_ngc_image(image: str, torch: str) -> None:
    row = lookup.ngc_pytorch(load_tables(), image)
    assert row is not None
    assert row["torch"] == torch


@pytest.mark.parametrize("image", ["nvcr.io/nvidia/pytorch:24.05", "nvidia/pytorch:24.05-py3.old"])
def test_no_ngc_image(image: str) -> None:
    assert lookup.ngc_pytorch(load_tables(), image) is None
