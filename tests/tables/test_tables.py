from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data.compile import compile_matrices
from flashdoctor.data.tables import Tables, load_tables, parse_table
from flashdoctor.errors import MatrixError

COMPAT = (
    "driver_cuda", "torch", "flash_attn", "vllm", "transformers", "quantization", "gpus", "wsl",
)  # fmt: skip
LAUNCH = ("flags", "environment", "memory", "attention")


def test_the_date_and_every_table_are_there() -> None:
    tables = load_tables()
    assert tables.date == "2026-11-30"
    assert {f"compat/{name}" for name in COMPAT} <= set(tables.names())
    assert {"folklore", *(f"launch/{name}" for name in LAUNCH)} <= set(tables.names())
    assert tables.compat("torch")["release"][0]["checked"] == "2026-11-30"
    assert load_tables() is tables


def test_a_table_is_read_once_and_only_when_asked_for(matrices: Path) -> None:
    (matrices / "compat" / "wsl.toml").write_text("broken", encoding="utf-8")
    tables = Tables(matrices)
    torch = tables.compat("torch")
    (matrices / "compat" / "torch.toml").unlink()
    assert tables.compat("torch") is torch
    with pytest.raises(MatrixError, match=r"compat/wsl\.toml: not TOML"):
        tables.compat("wsl")


def test_a_table_that_is_not_there_is_named_with_those_that_are(tables: Tables) -> None:
    with pytest.raises(MatrixError, match="no table 'compat/pytorch'") as caught:
        tables.compat("pytorch")
    assert "compat/torch" in caught.value.hint


def test_a_table_without_a_shape_is_a_mistake(matrices: Path) -> None:
    (matrices / "compat" / "new.toml").write_text("a = 1\n", encoding="utf-8")
    with pytest.raises(MatrixError, match=r"compat/new\.toml: no shape"):
        Tables(matrices).compat("new")


def test_a_file_that_is_not_text_is_a_mistake(matrices: Path) -> None:
    (matrices / "compat" / "wsl.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MatrixError, match=r"compat/wsl\.toml: cannot be read"):
        Tables(matrices).compat("wsl")
    assert len(Tables(matrices).examine("compat/wsl")[1]) == 1


def test_the_schema_of_meta_must_be_the_one_that_is_known(matrices: Path) -> None:
    text = 'schema = "flashdoctor/matrices/v2"\ndate = "30 November"\n'
    (matrices / "meta.toml").write_text(text, encoding="utf-8")
    with pytest.raises(MatrixError) as caught:
        assert Tables(matrices).date
    assert caught.value.message.splitlines() == [
        "meta.toml: schema: expected one of flashdoctor/matrices/v1, got 'flashdoctor/matrices/v2'",
        "meta.toml: date: expected a day such as 2026-11-30, got '30 November'",
    ]


def test_derived_values_are_worked_out_once(tables: Tables) -> None:
    made: list[int] = []

    def make(own: Tables) -> int:
        made.append(len(own.compat("torch")["release"]))
        return made[0]

    assert tables.derived("test", make) == tables.derived("test", make)
    assert len(made) == 1


def test_compiled_tables_are_equal_to_the_parsed_ones(tables: Tables, tmp_path: Path) -> None:
    compile_matrices(Path(__file__).parents[2] / "matrices", tmp_path / "out")
    compiled = Tables(tmp_path / "out")
    assert compiled.compiled
    assert not Tables(tmp_path / "out", toml=True).compiled
    assert compiled.names() == tables.names()
    for name in tables.names():
        assert compiled.table(name) == tables.table(name)


def test_broken_json_is_a_matrix_error(tmp_path: Path) -> None:
    compile_matrices(Path(__file__).parents[2] / "matrices", tmp_path / "out")
    for text in ("{", "[]"):
        (tmp_path / "out/compiled/compat/wsl.json").write_text(text, encoding="utf-8")
        with pytest.raises(MatrixError, match=r"compat/wsl\.json: not"):
            Tables(tmp_path / "out").compat("wsl")


@given(st.text())
def test_any_text_parses_or_is_a_matrix_error(text: str) -> None:
    with pytest.raises(MatrixError, match=r"compat/wsl\.toml"):
        parse_table("compat/wsl", text)


def test_what_is_parsed_can_be_written_as_json(tables: Tables) -> None:
    for name in tables.names():
        assert json.loads(json.dumps(tables.table(name))) == tables.table(name)
