from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.checks._vllm import (
    installed_version,
    is_row_of,
    release_in,
    release_row,
    row_before,
)
from flashdoctor.engine.view import MissingFactError


def test_a_row_stands_for_its_minor_and_is_of_one_patch(look: Any) -> None:
    view = look({"vllm.version": "0.10.0"})
    row = release_row(view)
    assert row is not None
    assert row["version"] == "0.10.2"
    assert not is_row_of(row, "0.10.0")
    assert is_row_of(row, "0.10.2+cu126")
    before = row_before(view, row)
    assert before is not None
    assert before["minor"] == "0.9"


def test_nothing_stands_before_the_first_row(look: Any) -> None:
    view = look({"vllm.version": "0.2.7"})
    row = release_row(view)
    assert row is not None
    assert row_before(view, row) is None


def test_both_ends_of_a_range_belong_to_it() -> None:
    assert release_in("0.10.1.1", "0.10.0", "0.10.1.1")
    assert release_in("0.10.0", "0.10.0", "0.10.1.1")
    assert not release_in("0.10.2", "0.10.0", "0.10.1.1")
    assert not release_in("none", "0.10.0", "0.10.1.1")


def test_without_vllm_there_is_nothing_to_judge(look: Any) -> None:
    for facts in ({"vllm.version": None}, {}):
        with pytest.raises(MissingFactError):
            installed_version(look(facts))
