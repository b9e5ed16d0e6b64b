from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.data import show
from flashdoctor.data.tables import Tables
from flashdoctor.errors import UsageError


def shown(tables: Tables, table: str, key: str | None = None) -> list[tuple[str, str]]:
    return [
        (found.section, str(next(iter(found.row.values()))))
        for found in show.find_rows(tables, table, key)
    ]


def test_every_table_is_listed_with_its_rows(tables: Tables) -> None:
    listed = {summary.name: summary.rows for summary in show.list_tables(tables)}
    assert set(listed) == set(tables.names())
    assert listed["compat/driver_cuda"]["minor_compat"] == 3
    assert sum(listed["compat/torch"].values()) == len(show.find_rows(tables, "torch"))


def test_a_table_is_found_by_its_short_or_long_name(tables: Tables) -> None:
    assert show.table_names(tables, "torch") == ("compat/torch",)
    assert show.table_names(tables, "compat/torch") == ("compat/torch",)
    assert show.table_names(tables, "signatures/torch") == ("signatures/torch",)
    assert show.table_names(tables, "folklore") == ("folklore",)
    for folder in ("compat", "launch"):
        assert show.table_names(tables, folder) == tables.group(folder)


def test_a_table_that_is_not_there_is_a_usage_error_with_a_hint(tables: Tables) -> None:
    with pytest.raises(UsageError) as caught:
        show.find_rows(tables, "trasformers")
    assert caught.value.exit_code == 2
    assert "'transformers'" in caught.value.hint
    with pytest.raises(UsageError) as caught:
        show.find_rows(tables, "../../etc")
    assert "flash_attn" in caught.value.hint


@pytest.mark.parametrize(
    ("table", "key", "rows"),
    [
        ("torch", "2.6.0+cu124", [("release", "2.6.0"), ("variant", "2.6")]),
        ("torch", "2.6", [("release", "2.6.0"), *[("variant", "2.6")] * 3]),
        ("torch", "blackwell-first", [("fact", "blackwell-first")]),
        ("driver_cuda", "535", [("driver_branch", "535")]),
        ("driver_cuda", "12.4.1", [("toolkit", "12.4 Update 1")]),
        ("driver_cuda", "12.4", [("toolkit", "12.4 Update 1"), ("toolkit", "12.4 GA")]),
        ("flash_attn", "2.7.4.post1", [("release", "2.7.4.post1")]),
        ("vllm", "0.10.1", [("release", "0.10.2"), ("torch_range", "0.10.0")]),
        ("transformers", "4.57.0", [("release", "4.57.6")]),
        ("quantization", "AWQ", [("vllm_method", "awq")]),
        ("quantization", "auto_gptq", [("package", "auto-gptq"), ("vllm_method", "auto_gptq")]),
        ("gpus", "rtx 4090", [("gpu", "NVIDIA GeForce RTX 4090")]),
        (
            "gpus",
            "sm_103",
            [("arch", "10.3"), ("gpu", "NVIDIA B300 SXM6 AC"), ("gpu", "NVIDIA GB300")],
        ),
        ("gpus", "12.1", [("arch", "12.1"), ("gpu", "NVIDIA GB10")]),
        ("wsl", "wsl1", [("fact", "wsl1")]),
        ("wsl", "nothing", []),
        ("torch", "2.6.0", [("release", "2.6.0")]),
        ("vllm", "0.10.2", [("release", "0.10.2"), ("torch_range", "0.10.2")]),
        ("flags", "--enforce-eager", [("flag", "enforce-eager")]),
        ("flags", "enforce_eager", [("flag", "enforce-eager")]),
        ("launch/flags", "--Enforce-Eager=true", [("flag", "enforce-eager")]),
        ("flags", "--no-enable-prefix-caching", [("flag", "enable-prefix-caching")]),
        ("flags", "-tp", [("flag", "tensor-parallel-size"), ("foreign", "tp")]),
        ("flags", "-cc.mode=3", [("flag", "compilation-config")]),
        ("flags", "-O", [("flag", "compilation-config"), ("flag", "optimization-level")]),
        ("flags", "--kv-cache-memory", [("flag", "kv-cache-memory-bytes")]),
        ("flags", "eager", [("flag", "enforce-eager")]),
        ("flags", "abbreviations", [("syntax", "abbreviations")]),
        ("flags", "--disable-cuda-graph", [("foreign", "disable-cuda-graph")]),
        ("flags", "--no-such-flag", []),
        ("flags", "--", []),
        ("environment", "vllm_use_v1", [("variable", "VLLM_USE_V1")]),
        ("environment", "SWAP", []),
        ("attention", "FLASHINFER_VLLM_V1", [("renamed", "FLASHINFER_VLLM_V1")]),
        ("memory", "gpu_memory_utilization", [("default", "gpu-memory-utilization")] * 2),
        ("memory", "nvfp4", [("kv_dtype", "nvfp4")]),
        ("folklore", "4090-84gb", [("claim", "4090-84gb")]),
        ("folklore", "smem", [("claim", "a100-smem-168")]),
    ],
)
def test_rows_are_found_by_any_key_a_person_would_use(
    tables: Tables, table: str, key: str, rows: list[tuple[str, str]]
) -> None:
    assert shown(tables, table, key) == rows


@pytest.mark.parametrize("table", ["flags", "environment", "memory", "attention"])
def test_a_release_of_vllm_shows_the_rows_that_hold_for_it(tables: Tables, table: str) -> None:
    rows = [found.row for found in show.find_rows(tables, table) if "last" in found.row]
    old = [found.row for found in show.find_rows(tables, table, "0.8.5")]
    assert 0 < len(old) < len(rows)
    assert all(row["first"] != "0.33.0" for row in old)
    assert old != [found.row for found in show.find_rows(tables, table, "0.33.0")]


def test_every_row_of_a_launch_table_is_found_by_its_names(tables: Tables) -> None:
    for wanted in ("flags", "environment", "folklore"):
        for found in show.find_rows(tables, wanted):
            for name in found.names():
                assert found in show.find_rows(tables, wanted, name), name


def test_rows_show_what_they_inherit(tables: Tables) -> None:
    for wanted in ("flags", "environment", "memory", "attention", "folklore", "torch"):
        for found in show.find_rows(tables, wanted):
            assert found.row["source"], found
            assert found.row["checked"] == "2026-11-30", found
    [flag] = show.find_rows(tables, "flags", "--dtype")
    meta = tables.table("launch/flags")["meta"]
    assert flag.row["source"] == meta["source"]
    assert all("source" not in row for row in tables.table("launch/flags")["flag"])


def test_an_ambiguous_gpu_shows_every_candidate(tables: Tables) -> None:
    names = [row[1] for row in shown(tables, "gpus", "A100")]
    assert len(names) > 3
    assert all("A100" in name for name in names)


def test_rules_are_found_across_their_files(
    with_rules: Callable[..., Tables], rule: Callable[..., str]
) -> None:
    tables = with_rules(rule(), rule(a='"FD101" => "FD201"', b="too-old => too-new"))
    assert len(show.find_rows(tables, "rules")) == 2
    for key in ("fd201", "driver-too-new", "driver_too_new"):
        [found] = show.find_rows(tables, "rules", key)
        assert (found.table, found.section, found.row["id"]) == ("rules/r1", "rule", "FD201")
