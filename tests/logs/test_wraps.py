from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.wraps import Shown, free_room, joined_lines

ERROR = (
    "ImportError: /usr/local/lib/python3.10/dist-packages/flash_attn_2_cuda.cpython-310-x86_64-"
    "linux-gnu.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_"
    "stringIcSt11char_traitsIcESaIcEEE"
)
SENTENCE = (
    "RuntimeError: The NVIDIA driver on your system is too old (found version 12020). Please"
    " update your GPU driver by downloading and installing a new version from the URL"
)


def shown(lines: list[str]) -> list[Shown]:
    return [Shown(number, line, line.rstrip(), len(line)) for number, line in enumerate(lines, 1)]


def boxed(lines: list[str], width: int) -> list[Shown]:
    found = []
    for number, line in enumerate(lines, 1):
        plain = f"\u2502 {line:{width}} \u2502"
        found.append(Shown(number, plain, line, len(plain), free_room(plain)))
    return found


def joined(lines: list[Shown]) -> list[str]:
    return [text for _, text, _ in joined_lines(lines)]


def broken(text: str, width: int) -> list[str]:
    return [text[start : start + width] for start in range(0, len(text), width)]


@pytest.mark.parametrize("text", [ERROR, SENTENCE])
@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_line_broken_by_a_terminal_is_joined(text: str, width: int) -> None:
    lines = ["Traceback (most recent call last):", *broken(text, width), "$ echo"]
    assert joined(shown(lines)) == [text]


def test_an_unusual_width_needs_two_lines_or_a_rest_that_looks_like_one() -> None:
    assert joined(shown([*broken(ERROR.upper(), 87), "$"])) == [ERROR.upper()]
    assert joined(shown([*broken(ERROR[:150], 87), "$"])) == [ERROR[:150]]
    assert joined(shown(["ERROR " * 15, "NEXT LINE", "$"])) == []


def test_a_blank_at_the_edge_that_was_not_copied_comes_back() -> None:
    text = "x" * 79 + " and the rest of it"
    assert joined(shown([text[:79], text[80:]])) == [text]


def test_the_first_line_is_named_and_the_raw_text_kept() -> None:
    lines = ["start", *broken(ERROR, 80)]
    assert list(joined_lines(shown(lines))) == [(1, ERROR, ERROR)]


@pytest.mark.parametrize(
    "following",
    [
        "torch 2.7.0+cu126",
        "",
        "   ",
        '  File "x.py", line 3',
        "Traceback (most recent call last):",
        "ValueError: y",
        "torch.cuda.OutOfMemoryError: z",
        "INFO 01-01 x",
        "2025-01-01 x",
        "torch==2.6.0",
        "GPU models: x",
        "| table |",
        "(Worker pid=1) x",
        "[rank0]: x",
    ],
)
def test_what_starts_anew_is_no_rest(following: str) -> None:
    assert joined(shown([ERROR[:80], following])) == []


def test_tables_and_equal_starts_are_no_broken_lines() -> None:
    assert joined(shown(["|" + "x" * 78 + "|"] * 3)) == []
    assert joined(shown(["+" + "-" * 78 + "+"] * 3)) == []
    assert joined(shown(["metric " + "1" * 73, "metric " + "2" * 73, "metric " + "3" * 73])) == []


def test_a_longer_line_near_by_means_that_nothing_was_broken() -> None:
    assert joined(shown(["x" * 90, ERROR[:80], "rest"])) == []


@pytest.mark.parametrize("width", [40, 60, 76])
def test_words_wrapped_in_a_box_are_joined(width: int) -> None:
    assert joined(boxed(textwrap.wrap(SENTENCE, width), width)) == [SENTENCE]


def test_a_word_cut_in_a_box_is_joined() -> None:
    assert joined(boxed(broken("/" + "x" * 100, 60), 60)) == ["/" + "x" * 100]


def test_lines_of_a_box_that_end_early_are_not_joined() -> None:
    assert joined(boxed(["RuntimeError: short", "another line of the box"], 60)) == []
    assert free_room("no box") == -1
    assert free_room("\u2502") == -1


@given(st.lists(st.text(max_size=130), max_size=30), st.integers(-1, 3))
def test_any_lines_are_joined_in_linear_pieces(texts: list[str], room: int) -> None:
    lines = [Shown(n, text, text, len(text), room) for n, text in enumerate(texts)]
    places = [place for place, _, _ in joined_lines(lines)]
    assert places == sorted(set(places))
    assert sum(len(text) for _, text, _ in joined_lines(lines)) <= 2 * sum(map(len, texts)) + 60
