from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.keywords import Keywords


def found(texts: list[str], *keywords: str) -> dict[int, set[str]]:
    return Keywords(keywords).find(texts)


def test_the_keywords_that_a_line_holds() -> None:
    lines = ["CUDA Error here", "nothing", "cuda error, cuda error", "", "x CUDA error"]
    assert found(lines, "cuda error", "cuda err0r", "x cuda", "nothing") == {
        0: {"cuda error"},
        1: {"nothing"},
        2: {"cuda error"},
        4: {"cuda error", "x cuda"},
    }


def test_a_keyword_does_not_reach_over_a_line_end() -> None:
    assert found(["driver version", "mismatch"], "version mismatch") == {}


def test_short_keywords_and_other_alphabets_are_found() -> None:
    lines = ["a b", "\u010de\u0161tina \u201cchyba\u201d", "\U0001f4a5 boom", "CUDA Error\uff1a x"]
    keywords = ("b", "\u0161tina", "\U0001f4a5 boom", "error\uff1a")
    assert found(lines, *keywords) == {
        0: {"b"},
        1: {"b", "\u0161tina"},
        2: {"b", "\U0001f4a5 boom"},
        3: {"error\uff1a"},
    }


def test_keywords_that_share_every_run_are_all_found() -> None:
    assert found(["xabcdabcdabcd"], "abcd", "abcdabcd", "dabcd", "abcde") == {
        0: {"abcd", "abcdabcd", "dabcd"}
    }


def test_nothing_is_found_where_there_is_nothing() -> None:
    assert found([], "cuda") == {}
    assert found(["", ""], "cuda") == {}
    assert found(["cuda"]) == {}


LETTERS = st.text(alphabet="ab \u00e9\u4e2d", max_size=12)
KEYWORDS = st.lists(st.text(alphabet="ab \u00e9\u4e2d", min_size=1, max_size=9), max_size=6)


@given(st.lists(LETTERS, max_size=8), KEYWORDS)
def test_found_is_what_a_plain_search_finds(texts: list[str], keywords: list[str]) -> None:
    held = {
        place: {keyword for keyword in keywords if keyword in text}
        for place, text in enumerate(texts)
    }
    assert found(texts, *keywords) == {place: words for place, words in held.items() if words}
