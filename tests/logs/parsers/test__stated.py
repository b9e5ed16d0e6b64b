from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parsers._stated import is_version, on, state
from flashdoctor.model.facts import known
from flashdoctor.model.log import Found, Line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.6.0+cu124", True),
        ("v0.10.2", True),
        ("2.8.0.dev20250319+cu128", True),
        ("0.9.2rc2.dev2065+g4f43dae12.rocm700", True),
        ("2", True),
        ("", False),
        ("N/A", False),
        ("2.6.0,", False),
        ("2.6.0-", False),
        ("1" * 100, False),
        ("${TORCH}", False),
    ],
)
def test_what_can_be_a_version(text: str, *, expected: bool) -> None:
    assert is_version(text) is expected


def test_a_value_that_does_not_fit_gives_no_fact() -> None:
    assert list(state("gpu.count", "many", "x")) == []
    assert [fact.value for fact in state("gpu.count", "8", "x")] == [8]


def test_facts_carry_their_line_and_trust() -> None:
    fact = known("gpu.count", 2, "x")
    assert list(on(Line(7, "x"), [fact], 1)) == [Found(fact=fact, line=7, trust=1)]


@given(st.sampled_from(["torch.version", "gpu.count", "gpu.compute_capability"]), st.text())
def test_any_text(path: str, text: str) -> None:
    assert len(list(state(path, text, "x"))) <= 1
