from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.render.layout import cells, hang, indented, joined, pad, pairs, table, wrap


def test_cells_counts_as_a_terminal_does() -> None:
    assert cells("abc") == 3
    assert cells("\u65e5\u672c") == 4
    assert cells("e\u0301") == 1
    assert pad("\u65e5", 4) == "\u65e5  "


def test_wrap_breaks_at_blanks_and_inside_a_word_where_it_must() -> None:
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("abcdefgh", 3) == ["abc", "def", "gh"]
    assert wrap("", 10) == [""]
    assert wrap("https://a.example/long/path", 10) == ["https://a.example/long/path"]
    assert wrap("see https://a.example/long/path now", 10) == [
        "see",
        "https://a.example/long/path",
        "now",
    ]


@given(st.text(st.characters(exclude_categories=["C", "Z"])), st.integers(2, 40))
def test_wrap_loses_nothing(word: str, width: int) -> None:
    text = f"{word} {word}"
    lines = wrap(text, width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert "://" in text or all(cells(line) <= width for line in lines)


def test_hang_indents_what_follows_and_puts_the_tag_at_the_right() -> None:
    assert hang("x ", "one two three", 14, tag="FD1") == ["x one two  FD1", "  three"]
    assert indented("one two", 6, 2) == ["  one", "  two"]


def test_pairs_align_and_wrap_both_columns() -> None:
    assert pairs([], 80, 2) == []
    assert pairs([("a", "1"), ("long", "2")], 80, 2) == ["  a     1", "  long  2"]
    assert pairs([("one two three", "x y z")], 20, 0) == ["one two   x y z", "three"]


def test_table_aligns_columns() -> None:
    assert table([]) == []
    assert table([["id", "n"], ["long", "1"]], indent=1) == [" id    n", " long  1"]


def test_joined_puts_one_blank_line_between_blocks() -> None:
    assert joined([[], ["a"], [], ["b", "c"], []]) == ["a", "", "b", "c"]
