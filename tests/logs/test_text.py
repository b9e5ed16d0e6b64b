from __future__ import annotations

import codecs
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.text import (
    LONGEST,
    MOST_SHORT,
    OVERLAP,
    decode,
    drawings,
    guess_encoding,
    number_lines,
    split_lines,
)

SAMPLE = "RuntimeError: no kernel\nsm_120 caf\u00e9\n"


def lines_of(*chunks: bytes) -> list[tuple[int, str]]:
    return list(split_lines(decode(chunks)))


def text_of(*chunks: bytes) -> str:
    return "".join(decode(chunks))


def in_pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    ends = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    return [data[start:stop] for start, stop in pairwise(ends)]


@pytest.mark.parametrize(
    ("codec", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", codecs.BOM_UTF8),
        ("utf-16-le", codecs.BOM_UTF16_LE),
        ("utf-16-be", codecs.BOM_UTF16_BE),
        ("utf-16-le", b""),
        ("utf-16-be", b""),
        ("utf-32-le", codecs.BOM_UTF32_LE),
        ("utf-32-be", codecs.BOM_UTF32_BE),
    ],
)
def test_every_encoding_that_people_paste(codec: str, mark: bytes) -> None:
    data = mark + SAMPLE.encode(codec)
    assert text_of(data) == SAMPLE
    assert text_of(*(bytes([byte]) for byte in data)) == SAMPLE


def test_what_powershell_redirects_to_a_file() -> None:
    data = codecs.BOM_UTF16_LE + "torch 2.6.0\r\nsm_90\r\n".encode("utf-16-le")
    assert lines_of(data) == [(1, "torch 2.6.0"), (2, "sm_90")]


def test_nuls_of_a_truncated_log_are_dropped() -> None:
    assert text_of(b"\0" * 5000 + b"Error\0: x\n") == "Error: x\n"


def test_utf16_appended_to_plain_text_still_reads() -> None:
    data = b"first line of plain text\n" * 200 + "added\n".encode("utf-16-le")
    assert text_of(data).endswith("added\n")


def test_wrong_bytes_are_replaced_and_the_rest_stays() -> None:
    assert text_of(b"caf\xe9 CUDA \xff\xfe error") == "caf\ufffd CUDA \ufffd\ufffd error"
    assert text_of(b"cut \xe2\x82") == "cut \ufffd"


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=6))
def test_any_bytes_decode_and_chunks_do_not_matter(data: bytes, cuts: list[int]) -> None:
    assert text_of(*in_pieces(data, cuts)) == text_of(data)
    assert "\0" not in text_of(data)


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0\x1b\ufeff"))))
def test_every_kind_of_line_end(texts: list[str]) -> None:
    texts = [f"{text} is long enough" for text in texts]
    numbered = list(enumerate(texts, start=1))
    for end in ("\n", "\r\n"):
        assert lines_of("".join(text + end for text in texts).encode()) == numbered
    assert lines_of("\n".join(texts).encode()) == numbered


def test_carriage_returns_alone_end_lines_too() -> None:
    assert lines_of(b"one\rtwo\rthree") == [(1, "one"), (2, "two"), (3, "three")]
    assert lines_of(b"one\rtwo\r") == [(1, "one"), (2, "two")]


def test_a_line_end_may_be_cut_in_two_by_a_block() -> None:
    data = b"x" * 65_535 + b"\r\nnext\r\n"
    assert [number for number, _ in lines_of(data)] == [1, 2]


def test_a_progress_bar_leaves_its_last_drawing_and_what_else_was_said() -> None:
    bar = "".join(f"\r{share:3}%|{'#' * share}| {share}/100 [00:01<00:09]" for share in range(100))
    found = lines_of(f"start\nLoading:{bar}\rOSError: no space left\r\nend\n".encode())
    assert found == [
        (1, "start"),
        (2, "Loading:"),
        (2, f" 99%|{'#' * 99}| 99/100 [00:01<00:09]"),
        (2, "OSError: no space left"),
        (3, "end"),
    ]


def test_cursor_movements_redraw_as_well() -> None:
    assert drawings("10%\x1b[2K\x1b[1G20%\x1b[1A30% done") == ["20%", "30% done"]
    assert drawings("\x1b[31mred\x1b[0m") == ["\x1b[31mred\x1b[0m"]
    assert drawings("\r\r") == [""]


def test_a_line_without_end_comes_in_pieces_of_the_same_number() -> None:
    words = " ".join(f"word{number}" for number in range(40_000))
    found = lines_of(b"a line before\n" + words.encode() + b"\nlast line\n")
    assert {number for number, _ in found} == {1, 2, 3}
    pieces = [text for number, text in found if number == 2]
    assert max(map(len, pieces)) <= LONGEST
    whole = pieces[0] + "".join(piece[OVERLAP:] for piece in pieces[1:])
    assert whole == words
    assert found[-1] == (3, "last line")


@given(st.integers(0, 3 * LONGEST), st.integers(0, 100))
def test_pieces_without_overlap_are_the_line(size: int, step: int) -> None:
    line = ("x" * step + " ") * (size // (step + 1))
    pieces = [text for _, text in number_lines([line[: size // 2], line[size // 2 :]], overlap=0)]
    assert "".join(pieces) == line


def test_floods_of_short_and_of_equal_lines_are_cut() -> None:
    flood = b"7\n8\n" * MOST_SHORT + b"the same long line\n" * (2 * MOST_SHORT) + b"the end of it\n"
    found = lines_of(flood)
    assert len(found) == 2 * MOST_SHORT + 2
    assert found[-1] == (4 * MOST_SHORT + 1, "the end of it")


def test_guess_needs_evidence() -> None:
    assert guess_encoding(b"") == "utf-8"
    assert guess_encoding(b"\0" * 64) == "utf-8"
    assert guess_encoding("\u65e5\u672c\u8a9e CUDA error ".encode("utf-16-le")) == "utf-16-le"
