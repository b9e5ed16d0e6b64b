from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.specifiers import below, clauses, fits, lower_bound


@pytest.mark.parametrize(
    ("version", "specifier", "fitting"),
    [
        ("2.8.0", "==2.8.0", True),
        ("2.8.0+cu128", "==2.8.0", True),
        ("2.8", "==2.8.0", True),
        ("2.8.1", "==2.8.0", False),
        ("2.8.0a0+5228986c39.nv25.6", ">=2.8", True),
        ("0.6.8.post1", "==0.6.8.post1", True),
        ("0.6.8", "==0.6.8.post1", False),
        ("5.4.2", "!=5.4.*,>=4.56.0", False),
        ("5.5.3", "!=5.0.*,!=5.4.*,!=5.5.0,>=4.56.0", True),
        ("5.0.0", "!=5.0.*,>=4.56.0", False),
        ("50.1", "!=5.*", True),
        ("3.13.1", "<3.13,>=3.9", False),
        ("3.12.9", "<3.13,>=3.9", True),
        ("3.8.4", "~=3.8.0", True),
        ("3.9.0", "~=3.8.0", False),
        ("1.0", "any", True),
        ("unknown", ">=1.0", False),
    ],
)
def test_a_version_is_held_against_every_clause(
    version: str, specifier: str, fitting: bool
) -> None:
    assert fits(version, specifier) is fitting


def test_the_lower_end_is_the_first_clause_that_sets_one() -> None:
    assert lower_bound("!=5.0.*,<5.18.0,>=5.10.4") == "5.10.4"
    assert lower_bound("==2.8.0") == "2.8.0"
    assert lower_bound("<3") is None


def test_only_what_lies_under_the_lower_end_is_below() -> None:
    assert below("4.55.1", ">=4.55.2,<5")
    assert not below("5.1", ">=4.55.2,<5")
    assert not below("4.55.1", "<5")
    assert not below("nothing", ">=4.55.2")


@given(st.text())
def test_any_text_can_be_read_as_a_specifier(text: str) -> None:
    assert all(operator and version for operator, version in clauses(text))


@given(st.lists(st.integers(0, 99), min_size=1, max_size=4), st.integers(0, 99))
def test_a_version_fits_its_own_pin_and_no_later_one(numbers: list[int], more: int) -> None:
    version = ".".join(map(str, numbers))
    later = f"{numbers[0] + 1}.{more}"
    assert fits(version, f"=={version}")
    assert below(version, f">={later}")
    assert not fits(version, f">={later}")
