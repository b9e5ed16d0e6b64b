from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data.schema import SHAPES
from flashdoctor.data.shape import KINDS, Field, Section, Shape, may, mistakes_in, need, whole_row

ROW = Section(
    {
        "version": need("version"),
        "minor": may("version"),
        "cuda": may("version", "none"),
        "abi": may("text", "old", "new"),
        "archs": may("target", many=True),
        "count": may("int"),
        "share": may("number"),
        "pattern": may("pattern"),
        "checked": may("date"),
        "unverified_fields": may("text", many=True),
        "inner": Field("table", required=False, of=Section({"a": need("bool")}, single=True)),
    },
    unique=(("version",), ("minor", "cuda")),
)
INHERITING = Section({"name": need("variable"), "source": need("text")}, inherits=("source",))
SHAPE = Shape({"release": ROW, "meta": Section({"method": need("text")}, single=True)})
META = {"method": "read"}


def check(*rows: Any) -> list[str]:
    return mistakes_in({"meta": META, "release": list(rows)}, SHAPE)


def test_a_good_table_has_no_mistakes() -> None:
    row = {
        "version": "2.6.0",
        "cuda": "none",
        "abi": "old",
        "archs": ["sm_90", "compute_120", "sm_100f"],
        "count": 3,
        "share": 1,
        "pattern": "flash_(?:fwd|bwd)",
        "checked": date(2026, 11, 30),
        "inner": {"a": True},
    }
    assert check(row) == []


@pytest.mark.parametrize(
    ("row", "mistake"),
    [
        ({"version": 2}, "release[0].version: expected text, got int"),
        ({"version": "new"}, "release[0].version: expected a version, got 'new'"),
        ({}, "release[0].version: missing"),
        ({"version": "2", "verison": "2"}, "release[0].verison: unknown key"),
        (
            {"version": "2", "cuda": "cpu"},
            "release[0].cuda: expected a version or none, got 'cpu'",
        ),
        ({"version": "2", "abi": "odd"}, "release[0].abi: expected one of old, new, got 'odd'"),
        ({"version": "2", "abi": 1}, "release[0].abi: expected one of old, new, got 1"),
        ({"version": "2", "archs": "sm_90"}, "release[0].archs: expected a list, got text"),
        (
            {"version": "2", "archs": ["sm_90", "9.0"]},
            "release[0].archs[1]: expected a target such as sm_90, got '9.0'",
        ),
        ({"version": "2", "count": True}, "release[0].count: expected int, got bool"),
        ({"version": "2", "count": 1.5}, "release[0].count: expected int, got number"),
        ({"version": "2", "share": "1"}, "release[0].share: expected number, got text"),
        (
            {"version": "2", "pattern": "flash_(fwd"},
            "release[0].pattern: expected a regular expression, got 'flash_(fwd'",
        ),
        (
            {"version": "2", "pattern": "a{99999999999}"},
            "release[0].pattern: expected a regular expression, got 'a{99999999999}'",
        ),
        ({"version": "2", "checked": "today"}, "release[0].checked: expected date, got text"),
        ({"version": "2", "inner": {"a": 1}}, "release[0].inner.a: expected bool, got int"),
        ({"version": "2", "inner": []}, "release[0].inner: expected table, got list"),
        (
            {"version": "2", "unverified_fields": ["cuda"]},
            "release[0].unverified_fields: 'cuda' is not a key of this row",
        ),
        ("2.6", "release[0]: expected a table, got text"),
    ],
)
def test_each_mistake_is_named_with_its_path(row: Any, mistake: str) -> None:
    assert check(row) == [mistake]


def test_two_rows_of_one_name_are_a_mistake() -> None:
    first = {"version": "2.6", "minor": "2.6", "cuda": "12.4"}
    same_pair = {"version": "2.7", "minor": "2.6", "cuda": "12.4"}
    assert check(first, {"version": "2.6"}, same_pair) == [
        "release[1]: version '2.6' is there already, at release[0]",
        "release[2]: minor '2.6', cuda '12.4' is there already, at release[0]",
    ]


def test_a_row_may_leave_to_meta_what_it_inherits() -> None:
    shape = Shape({"meta": Section({"source": need("text")}, single=True), "row": INHERITING})
    bare, own = {"name": "A_1"}, {"name": "B", "source": "own"}
    table = {"meta": {"source": "all"}, "row": [bare, own]}
    assert mistakes_in(table, shape) == []
    rows = [whole_row(table, INHERITING, row) for row in (bare, own)]
    assert rows == [{"name": "A_1", "source": "all"}, {"name": "B", "source": "own"}]
    assert bare == {"name": "A_1"}
    assert mistakes_in({"meta": {}, "row": [{"name": "a"}]}, shape) == [
        "meta.source: missing",
        "row[0].name: expected a variable such as VLLM_USE_V1, got 'a'",
    ]
    assert mistakes_in({"meta": {"source": "all"}, "row": [{"source": ""}]}, shape) == [
        "row[0].source: expected a text that is not empty, got ''",
        "row[0].name: missing",
    ]


def test_sections_are_checked_too() -> None:
    assert mistakes_in({"release": {}, "relaese": [], "meta": []}, SHAPE) == [
        "relaese: unknown key",
        "release: expected a list of rows, got table",
        "meta: expected a table, got list",
    ]
    assert mistakes_in({}, SHAPE) == ["release: missing", "meta: missing"]


def test_every_mistake_is_reported_at_once() -> None:
    broken = [{"version": 1}, {"cuda": 2, "count": "x"}, {"version": "3", "nope": 1}]
    assert len(check(*broken)) == 5


def test_every_shape_uses_known_kinds_and_known_unique_keys() -> None:
    for name, shape in SHAPES.items():
        for section in (*shape.sections.values(), shape.values):
            for key, spec in section.fields.items():
                assert spec.kind in KINDS, (name, key)
                assert spec.of is None or spec.kind == "table", (name, key)
            for column in (key for group in section.unique for key in group):
                assert section.fields[column].required, (name, column)
            for key in section.inherits:
                assert shape.sections["meta"].fields[key] == section.fields[key], (name, key)


TOML = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["release", "meta", "x"]), TOML))
def test_no_value_breaks_the_check(table: dict[str, Any]) -> None:
    for mistake in mistakes_in(table, SHAPE):
        assert mistake.split(":")[0]


@given(st.dictionaries(st.sampled_from([*ROW.fields, "x"]), TOML))
def test_no_row_breaks_the_check(row: dict[str, Any]) -> None:
    assert all(mistake.startswith("release[0]") for mistake in check(row))
