"""What the tables say of one another must fit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from flashdoctor.data import lookup
from flashdoctor.data.tables import Tables
from flashdoctor.model.versions import Capability, capability, cuda_of_tag, major, minor, order

Rows = list[dict[str, Any]]


def _order(version: str) -> tuple[tuple[int, ...], int]:
    found = order(version)
    assert found is not None
    return found


def _capability(text: str) -> Capability:
    found = capability(text)
    assert found is not None
    return found


def test_torch_defaults_are_among_the_variants(tables: Tables) -> None:
    for row in tables.compat("torch")["release"]:
        assert row["minor"] == minor(row["version"])
        assert row["default_variant"] in row["cuda_variants"]
        assert cuda_of_tag(row["default_variant"]) == row["default_cuda"]
        for tag in row["cuda_variants"]:
            cuda = cuda_of_tag(tag)
            assert cuda is not None
            variant = lookup.torch_variant(tables, row["version"], cuda=cuda)
            assert variant is not None, (row["version"], tag)
            assert variant["tag"] == tag


def test_torch_default_wheels_agree_with_their_variant(tables: Tables) -> None:
    for row in tables.compat("torch")["release"]:
        variant = lookup.torch_variant(tables, row["version"], cuda=row["default_cuda"])
        assert variant is not None
        assert variant["cxx11_abi"] == row["cxx11_abi"]
        assert [_capability(arch).sm for arch in variant["arch_list"]] == row["default_arch_list"]


def test_torch_drivers_are_the_floor_of_their_cuda(tables: Tables) -> None:
    for row in tables.compat("torch")["variant"]:
        floor = lookup.cuda_floor(tables, major(row["cuda"]) or 0)
        assert floor is not None
        assert row["min_driver_linux"] == floor["min_linux"]


def test_vllm_pins_and_drivers_agree(tables: Tables) -> None:
    for row in tables.compat("vllm")["release"]:
        assert row["minor"] == minor(row["version"])
        assert row["torch"] == f"=={lookup.vllm_torch_pin(tables, row['version'])}"
        floor = lookup.cuda_floor(tables, int(row["index_wheel_cudart_major"]))
        assert floor is not None
        assert row["min_driver_linux"] == floor["min_linux"]
        assert major(row["index_wheel_cuda"]) == int(row["index_wheel_cudart_major"])
        lowest = min(_capability(target) for target in row.get("sass_in_wheel", ["sm_70"]))
        assert _capability(row["min_compute_capability"]) >= min(lowest, Capability(7, 0))


def test_vllm_torch_ranges_neither_overlap_nor_run_backwards(tables: Tables) -> None:
    rows: Rows = tables.compat("vllm")["torch_range"]
    assert all(_order(row["first"]) <= _order(row["last"]) for row in rows)
    assert all(_order(one["last"]) < _order(two["first"]) for one, two in pairwise(rows))


def test_vllm_torch_pins_are_releases_of_torch(tables: Tables) -> None:
    for row in tables.compat("vllm")["torch_range"]:
        assert lookup.torch_release(tables, row["torch"]) is not None, row["torch"]


def test_gpus_agree_with_their_architecture(tables: Tables) -> None:
    for row in tables.compat("gpus")["gpu"]:
        arch = lookup.arch(tables, _capability(row["compute_capability"]))
        assert arch is not None, row["name"]
        assert row["max_smem_per_block_optin_kb"] == arch["max_smem_per_block_optin_kb"]
        assert row.get("last_driver_branch") == arch.get("last_driver_branch")
        assert row["first_cuda"] == arch.get("first_cuda", row["first_cuda"])
        assert row["bf16_supported"] == arch["bf16_tensor"]
        assert row["fp8_supported"] == arch["fp8_tensor"]
        lowest = row.get("min_driver_branch", 0)
        assert lowest <= row.get("last_driver_branch", lowest)


def test_capabilities_and_targets_agree(tables: Tables) -> None:
    for row in tables.compat("gpus")["arch"]:
        assert _capability(row["cc"]).sm == row["sm"]


def test_toolkits_belong_to_a_branch_that_understands_them(tables: Tables) -> None:
    for row in tables.compat("driver_cuda")["toolkit"]:
        number = row.get("driver_branch") or major(row["linux_driver"]) or 0
        branch = lookup.driver_branch(tables, number)
        assert branch is not None, row["release"]
        assert _order(branch["nvidia_smi_cuda_version"]) >= _order(minor(row["version"]) or "")


def test_flash_attn_wheels_by_torch_agree_with_the_releases(tables: Tables) -> None:
    built: dict[str, list[str]] = {}
    for row in tables.compat("flash_attn")["release"]:
        for torch in row["wheel_torch_minors"]:
            built.setdefault(torch, []).append(row["version"])
    for row in tables.compat("flash_attn")["torch_minor"]:
        assert row["must_compile"] == (row["torch"] not in built)
        if not row["must_compile"]:
            assert row["official_wheels"].split()[-1] == built[row["torch"]][-1]
            assert row["official_wheels"].split()[0] == built[row["torch"]][0]


def test_runs_of_a_quantization_method_follow_one_another(tables: Tables) -> None:
    for section in ("vllm_method", "vllm_scheme", "vllm_kernel"):
        for row in tables.compat("quantization")[section]:
            runs: Rows = row.get("runs", [])
            assert all(_order(run["first"]) <= _order(run["last"]) for run in runs)
            for one, two in pairwise(runs):
                assert _order(one["last"]) < _order(two["first"])
                assert one["min_capability"] != two["min_capability"]
            if runs and row["min_capability"] != "CPU only":
                assert runs[-1]["min_capability"] == row["min_capability"]


@pytest.mark.parametrize(
    ("table", "section", "rows"),
    [
        ("driver_cuda", "toolkit", 58),
        ("driver_cuda", "driver_branch", 25),
        ("torch", "release", 30),
        ("torch", "variant", 52),
        ("flash_attn", "release", 79),
        ("vllm", "release", 32),
        ("vllm", "torch_range", 17),
        ("transformers", "release", 49),
        ("quantization", "vllm_method", 50),
        ("gpus", "gpu", 139),
        ("gpus", "arch", 18),
        ("wsl", "fact", 24),
    ],
)
def test_no_table_loses_rows(tables: Tables, table: str, section: str, rows: int) -> None:
    assert len(tables.compat(table)[section]) >= rows
