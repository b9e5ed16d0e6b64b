from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.lines import MAX_RAW, MAX_TEXT, WINDOW, read_lines, read_parts
from flashdoctor.model.log import Line

HOSTILE = {
    "one line": b"x" * 1_000_000,
    "newlines": b"\n" * 1_000_000,
    "carriage returns": b"1\r" * 500_000,
    "short lines": b"ab\nc\n" * 200_000,
    "distinct short lines": b"abcdefg1\nabcdefg2\n" * 55_000,
    "escapes": b"\x1b[" * 500_000,
    "titles": b"\x1b]" * 500_000,
    "backspaces": b"a\x08" * 500_000,
    "quotes": b"> " * 500_000,
    "quoted lines": b"> > > > 1\n> > > > 2\n" * 50_000,
    "entities": b"&gt;" * 250_000,
    "objects": b'{"a":' * 200_000,
    "entries": b'{"log":"a b c","time":1}\n{"log":"c d e","time":2}\n' * 20_000,
    "spelled ends": b"\\n  File " * 110_000,
    "worker prefixes": b"(a pid=1)" * 110_000,
    "service prefixes": b"a-1 | " * 160_000,
    "open brackets": b"(a " * 330_000,
    "fences": b"`" * 1_000_000,
    "wrong bytes": b"\xff" * 1_000_000,
    "boxes": "\u2502 hello \u2502\n\u2502 there \u2502\n".encode() * 30_000,
    "rules": "\u2500".encode() * 330_000,
    "equal widths": (b"a" * 79 + b"b\n" + b"c" * 79 + b"d\n") * 6_000,
}


def texts(data: bytes | str) -> list[tuple[int, str]]:
    raw = data.encode() if isinstance(data, str) else data
    return [(line.number, line.text) for line in read_lines([raw])]


def in_pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    ends = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    return [data[start:stop] for start, stop in pairwise(ends)]


def test_a_line_has_its_number_its_text_and_how_it_stood_there() -> None:
    raw = "\x1b[31mvllm-1  | ERROR boom\x1b[0m"
    found = list(read_lines([f"first\n\n{raw}\n".encode()]))
    assert found == [Line(1, "first", "first"), Line(2, "", ""), Line(3, "ERROR boom", raw)]


def test_the_process_that_a_line_came_from_is_told_where_it_changes() -> None:
    lines = [
        "(EngineCore_DP0 pid=280) RuntimeError: one",
        "(EngineCore_DP0 pid=280) two",
        "vllm-1  | (APIServer pid=7) three",
        "(Worker rank=1 pid=9)",
        "ray::f() (pid=123, ip=10.0.0.2)",
    ]
    assert texts("\n".join(lines)) == [
        (1, "(EngineCore_DP0 pid=280)"),
        (1, "RuntimeError: one"),
        (2, "two"),
        (3, "(APIServer pid=7)"),
        (3, "three"),
        (4, "(Worker rank=1 pid=9)"),
        (4, ""),
        (5, "ray::f() (pid=123, ip=10.0.0.2)"),
    ]


def test_a_broken_line_comes_joined_before_it_comes_as_it_stands() -> None:
    text = "RuntimeError: The NVIDIA driver on your system is too old (found version 12020). Please"
    assert texts(f"$ python x.py\n{text[:80]}\n{text[80:]}\n") == [
        (1, "$ python x.py"),
        (2, text),
        (2, text[:80]),
        (3, text[80:]),
    ]


def test_a_broken_line_behind_a_prefix_and_in_a_quote() -> None:
    text = (
        "undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char"
    )
    whole = f"vllm-1  | {text}"
    assert (1, text) in texts(f"{whole[:80]}\n{whole[80:]}\n")
    assert (1, text) in texts(f"> {text[:78]}\n> {text[78:]}\n")


def test_a_boxed_error_is_joined() -> None:
    box = (
        "\u256d\u2500 Error \u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u256e\n"
        "\u2502 driver too old \u2502\n"
        "\u2502 (found version \u2502\n"
        "\u2502 12020)         \u2502\n"
    )
    assert texts(box)[1] == (2, "driver too old (found version 12020)")


def test_lines_of_an_entry_have_its_number_and_are_never_joined() -> None:
    entry = '{"level":"error","msg":"' + "x" * 79 + '\\nsecond"}'
    assert texts(f"one\n{entry}\nthree\n") == [
        (1, "one"),
        (2, "x" * 79),
        (2, "second"),
        (3, "three"),
    ]


def test_a_long_line_is_cut_and_its_rest_comes_in_windows() -> None:
    words = " ".join(f"word{number}" for number in range(10_000))
    found = list(read_lines([words.encode()]))
    assert {line.number for line in found} == {1}
    assert len(found[0].text) == MAX_TEXT
    assert max(len(line.raw) for line in found) == MAX_RAW
    assert max(len(line.text) for line in found) == MAX_TEXT
    assert {len(line.text) for line in found[1:5]} == {WINDOW}
    assert all(any(f"word{number} " in line.text for line in found) for number in range(9_999))


def test_the_end_of_a_line_of_10_mb_is_seen() -> None:
    data = b"x " * 5_000_000 + b"RuntimeError: the end\nnext line\n"
    found = [line for line in read_lines([data]) if "RuntimeError" in line.text]
    assert {line.number for line in found} == {1}
    assert list(read_lines([data]))[-1].number == 2


def test_several_texts_are_one_paste_with_an_encoding_each() -> None:
    parts = [["one\ntwo\n".encode("utf-16")], [b"three\n"], [b""], [b"four"]]
    found = [(line.number, line.text) for line in read_parts(parts)]
    assert found == [(1, "one"), (2, "two"), (3, "three"), (4, "four")]


alphabets = st.binary(max_size=400) | st.text(
    'aE1 \n\r\t\x1b[m(pid=)>|{}":,\\`&;\u2502\u2500\u2019~', max_size=400
).map(str.encode)


@given(alphabets, st.lists(st.integers(0, 400), max_size=5))
def test_any_bytes_give_clean_lines_however_they_arrive(data: bytes, cuts: list[int]) -> None:
    found = list(read_lines([data]))
    assert found == list(read_lines(in_pieces(data, cuts)))
    assert [line.number for line in found] == sorted(line.number for line in found)
    for line in found:
        assert "\n" not in line.text
        assert not any(ord(char) < 0x20 and char != "\t" for char in line.text)
        assert len(line.text) <= MAX_TEXT
        assert len(line.raw) <= MAX_RAW


@given(st.lists(st.integers(0, 99), min_size=1, max_size=400))
def test_no_line_is_lost(numbers: list[int]) -> None:
    data = "".join(f"line {number} of the log\n" for number in numbers)
    found = [line for line in read_lines([data.encode()]) if line.text]
    assert [line.number for line in found] == list(range(1, len(numbers) + 1))
    assert [int(line.text.split()[1]) for line in found] == numbers


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_takes_no_longer_than_its_length_allows(name: str) -> None:
    start = time.process_time()
    for _ in read_lines([HOSTILE[name]]):
        pass
    assert time.process_time() - start < 2  # about 0.5 s for the slowest on a slow machine
