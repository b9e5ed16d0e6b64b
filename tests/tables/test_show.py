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
    assert len(show.table_names(tables, "compat")) == 9


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
        ("gpus", "sm_87", [("arch", "8.7"), ("gpu", "Orin")]),
        ("gpus", "12.1", [("arch", "12.1"), ("gpu", "NVIDIA GB10")]),
        ("wsl", "wsl1", [("fact", "wsl1")]),
        ("wsl", "nothing", []),
    ],
)
def test_rows_are_found_by_any_key_a_person_would_use(
    tables: Tables, table: str, key: str, rows: list[tuple[str, str]]
) -> None:
    assert shown(tables, table, key) == rows


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
