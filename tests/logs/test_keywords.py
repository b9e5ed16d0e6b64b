from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.keywords import Chunk
from flashdoctor.model.log import Line


def chunk(*texts: str) -> Chunk:
    return Chunk([Line(number, text) for number, text in enumerate(texts, start=1)])


def test_the_lines_that_hold_a_keyword() -> None:
    lines = chunk("CUDA Error here", "nothing", "cuda error, cuda error", "", "x CUDA error")
    assert list(lines.places("cuda error")) == [0, 2, 4]
    assert list(lines.places("cuda err0r")) == []
    assert lines.lines_with(["nothing", "x cuda"]) == {1, 4}


def test_a_keyword_does_not_reach_over_a_line_end() -> None:
    assert chunk("driver version", "mismatch").lines_with(["version mismatch"]) == set()


def test_short_keywords_and_other_alphabets_are_found() -> None:
    lines = chunk(
        "a b", "\u010de\u0161tina \u201cchyba\u201d", "\U0001f4a5 boom", "CUDA Error\uff1a x"
    )
    assert list(lines.places("b")) == [0, 1, 2]
    assert list(lines.places("\u0161tina")) == [1]
    assert list(lines.places("\U0001f4a5 boom")) == [2]
    assert list(lines.places("error\uff1a")) == [3]


LETTERS = st.text(alphabet="ab \u00e9\u4e2d", max_size=12)


@given(st.lists(LETTERS, max_size=8), st.text(alphabet="ab \u00e9\u4e2d", min_size=1, max_size=6))
def test_found_is_what_a_plain_search_finds(texts: list[str], keyword: str) -> None:
    expected = [place for place, text in enumerate(texts) if keyword in text.lower()]
    assert list(chunk(*texts).places(keyword)) == expected
