from __future__ import annotations

import pytest

from flashdoctor.cli.options import components, did_you_mean, one_of, split
from flashdoctor.errors import UsageError
from flashdoctor.model.rule import COMPONENTS


def test_split_takes_commas_and_repeats() -> None:
    assert split(["a, b", "c,,a", " "]) == ["a", "b", "c"]


def test_every_component_can_be_required() -> None:
    assert components([",".join(COMPONENTS), "sdpa"]) == COMPONENTS


@pytest.mark.parametrize(
    ("word", "hint"),
    [("jsno", "; did you mean 'json'?"), ("JSON", "; did you mean 'json'?"), ("q", "")],
)
def test_a_near_miss_is_named(word: str, hint: str) -> None:
    assert did_you_mean(word, ["terminal", "json"]) == hint


def test_one_of_says_what_would_do() -> None:
    assert one_of("--x", "a", ["a"]) == "a"
    with pytest.raises(UsageError, match=r"^--x takes a, not 'zzz'$"):
        one_of("--x", "zzz", ["a"])
    with pytest.raises(UsageError, match=r"^--x takes aa, bb or cc, not ''$"):
        one_of("--x", "", ["aa", "bb", "cc"])
