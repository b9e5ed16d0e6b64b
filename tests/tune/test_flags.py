from __future__ import annotations

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.errors import UsageError
from flashdoctor.tune.flags import Flag, newest, read_table, with_sources

TABLES = load_tables()


def test_a_release_has_the_flags_it_was_read_with() -> None:
    assert "swap-space" in read_table(TABLES, "0.10.2").flags
    assert "swap-space" not in read_table(TABLES, "0.18.0").flags
    assert "attention-backend" not in read_table(TABLES, "0.12.0").flags
    assert "attention-backend" in read_table(TABLES, "v0.13.0+cu129").flags


def test_a_release_between_two_has_what_either_has() -> None:
    table = read_table(TABLES, "0.17.5")
    assert not table.exact
    assert "swap-space" in table.flags  # 0.17.1 has it
    assert "dcp-comm-backend" in table.flags  # 0.18.0 has it
    assert read_table(TABLES, "0.17.1").exact


def test_releases_beyond_the_tables_are_taken_for_the_nearest() -> None:
    assert set(read_table(TABLES, "9.0").flags) == set(read_table(TABLES, newest(TABLES)).flags)
    assert read_table(TABLES, "9.0").release.beyond
    assert set(read_table(TABLES, "0.1").flags) == set(read_table(TABLES, "0.2.7").flags)


def test_what_a_flag_takes_depends_on_the_release() -> None:
    old, new = read_table(TABLES, "0.8.3").flags, read_table(TABLES, "0.10.2").flags
    assert old["enable-chunked-prefill"].kind == "store_boolean"
    assert new["enable-chunked-prefill"].kind == "bool_optional"
    assert new["max-num-seqs"].takes == "int"
    assert new["max-model-len"].takes == "size"
    assert new["served-model-name"].many
    assert new["kv-cache-dtype"].choices == ("auto", "fp8", "fp8_e5m2", "fp8_e4m3", "fp8_inc")
    assert "-tp" in new["tensor-parallel-size"].aliases


def test_flags_of_installed_sources_win() -> None:
    table = with_sources(read_table(TABLES, "0.10.2"), {"x": Flag("x")}, "its sources")
    assert set(table.flags) == {"x"}
    assert table.rows
    assert table.source == "its sources"


def test_what_is_no_version_is_refused() -> None:
    with pytest.raises(UsageError, match="not a version"):
        read_table(TABLES, "latest")
