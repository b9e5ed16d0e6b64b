from __future__ import annotations

import pytest

from flashdoctor.errors import UsageError
from flashdoctor.tune import spans

ROWS = [
    {"first": "0.6.0", "last": "0.6.6", "id": "a"},
    {"first": "0.8.5", "last": "0.8.5.post1", "id": "b"},
    {"first": "0.11.2", "last": "0.33.0", "id": "c"},
]


@pytest.mark.parametrize(
    ("version", "row"),
    [
        ("0.5.0", "a"),  # before all: the first that was read
        ("0.6.0", "a"),
        ("0.6.6+cu124", "a"),
        ("0.7.3", "a"),  # between two: the earlier reading
        ("0.8.5.post1", "b"),
        ("0.9.0", "b"),
        ("0.11.2", "c"),
        ("0.40.0", "c"),
    ],
)
def test_the_row_of_a_release_or_the_nearest_before_it(version: str, row: str) -> None:
    found = spans.row_at(ROWS, version)
    assert found is not None
    assert found["id"] == row


def test_an_open_row_holds_for_all() -> None:
    assert spans.row_at([{"id": "x"}], "0.1.0") == {"id": "x"}
    assert spans.rows_at(ROWS, "0.7.3") == []
    assert spans.row_at([], "0.7.3") is None


def test_what_is_no_version() -> None:
    with pytest.raises(UsageError, match="'latest' is not a version of vLLM"):
        spans.order("latest")
