from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.logs.collected import Collected
from flashdoctor.model.facts import absent, known, unknown
from flashdoctor.model.log import Found


def found(value: Any, line: int, trust: int = 2, path: str = "torch.version") -> Found:
    return Found(fact=known(path, value, "test"), line=line, trust=trust)


def test_the_more_trusted_wins_and_the_other_is_a_conflict() -> None:
    collected = Collected()
    collected.add([found("2.5.0", 1), found("2.6.0", 9, trust=3), found("2.4.0", 12)])
    snapshot = collected.snapshot()
    assert snapshot.value("torch.version") == "2.6.0"
    dropped = [pair.dropped.value for pair in snapshot.conflicts]
    assert dropped == ["2.5.0", "2.4.0"]
    assert {pair.kept.value for pair in snapshot.conflicts} == {"2.6.0"}
    assert collected.lines() == {"torch.version": 9}
    assert collected.trust() == {"torch.version": 3}


def test_words_in_passing_that_lose_are_no_conflict() -> None:
    collected = Collected()
    collected.add([found("2.5.0", 1, trust=1), found("2.6.0", 9), found("2.4.0", 12, trust=1)])
    assert collected.snapshot().value("torch.version") == "2.6.0"
    assert collected.snapshot().conflicts == ()


@pytest.mark.parametrize(
    ("first", "second", "path"),
    [
        ("2.6.0", "2.6.0+cu124", "torch.version"),
        ("13.0", "13.0.88", "toolkit.version"),
        ("3.12", "3.12.3", "python.version"),
    ],
)
def test_a_version_said_more_exactly_is_no_conflict(first: str, second: str, path: str) -> None:
    for values in ((first, second), (second, first)):
        collected = Collected()
        collected.add(found(value, line, path=path) for line, value in enumerate(values, start=1))
        assert collected.snapshot().value(path) == second
        assert collected.snapshot().conflicts == ()


@pytest.mark.parametrize(
    ("first", "second"), [("12.1", "12.10"), ("2.7.4", "2.7.4.post1"), ("2.6.0", "2.6.0rc1")]
)
def test_a_version_that_only_starts_alike_is_another(first: str, second: str) -> None:
    collected = Collected()
    collected.add([found(first, 1), found(second, 2)])
    assert [pair.dropped.value for pair in collected.snapshot().conflicts] == [second]


def test_among_equals_the_first_wins() -> None:
    collected = Collected()
    collected.add([found("2.5.0", 1), found("2.6.0", 2), found("2.5.0", 3)])
    assert collected.snapshot().value("torch.version") == "2.5.0"
    assert collected.lines() == {"torch.version": 1}
    assert len(collected.snapshot().conflicts) == 1


def test_the_same_said_again_with_more_trust_counts_more() -> None:
    collected = Collected()
    collected.add([found("2.5.0", 1, trust=1), found("2.5.0", 8, trust=3)])
    assert collected.trust() == {"torch.version": 3}
    assert collected.snapshot().conflicts == ()


def test_what_is_known_beats_what_could_not_be_told() -> None:
    collected = Collected()
    lost = Found(fact=unknown("gpu.name", "Could not collect", "test"), line=1, trust=3)
    missing = Found(fact=absent("toolkit.version", "test"), line=2)
    collected.add([lost, found("Tesla T4", 5, path="gpu.name"), missing])
    snapshot = collected.snapshot()
    assert snapshot.value("gpu.name") == "Tesla T4"
    assert snapshot["toolkit.version"].state == "absent"
    assert snapshot.conflicts == ()


def test_thousands_of_values_cost_no_more_than_a_few() -> None:
    collected = Collected()
    collected.add(found(str(number), number) for number in range(10_000))
    assert len(collected.snapshot().conflicts) == 3
