from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.render.clean import LIMIT, clean, clean_command, defuse


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;https://x.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("\x90payload\x9cafter", "after"),
        ("\x1b(B\x1b=x", "x"),
        ("a\x1b", "a?"),
        ("a\r\n\tb  c\u2028d", "a b c d"),
        ("a\x00\x08b", "a??b"),
        ("\u202egnp.exe", "?gnp.exe"),
        ("caf\u00e9 \u65e5", "caf\u00e9 \u65e5"),
        ("\ud800", "?"),
        ("[red]x[/red]", "[red]x[/red]"),
        ("##[error]x", "## [error]x"),
        ("", ""),
    ],
)
def test_clean(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_clean_cuts_and_says_so() -> None:
    assert clean("x" * (LIMIT + 1)) == "x" * (LIMIT - 4) + " ..."
    assert clean("x" * LIMIT) == "x" * LIMIT
    assert clean("abcdefghij", 8) == "abcd ..."


def test_a_command_keeps_its_blanks_and_length() -> None:
    assert clean_command(" echo 'a  b'\x1b[2J\n") == "echo 'a  b'"
    assert clean_command("x" * 9999) == "x" * 9999


def test_unclosed_sequences_take_no_time() -> None:
    start = time.perf_counter()
    clean("\x1b]" * 500_000)
    clean_command("\x1b]" * 20_000)
    assert time.perf_counter() - start < 2


@given(st.text())
def test_what_is_clean_is_printable_and_stays_so(text: str) -> None:
    once = clean(text)
    assert once.isprintable()
    assert len(once) <= LIMIT
    assert clean(once) == once
    assert clean_command(text).isprintable()


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("::error::x", ": :error::x"),
        ("   ::set-env name=A::b", "   : :set-env name=A::b"),
        ("\x1b[31m::error::", "\x1b[31m: :error::"),
        ("c10::Error", "c10::Error"),
        ("a ::error::", "a ::error::"),
        ("a ##[error]b", "a ## [error]b"),
        ("a##vso[task.setvariable x=y]b", "a## vso[task.setvariable x=y]b"),
        ("###TeamCity[buildStatus text='x']", "### TeamCity[buildStatus text='x']"),
        ("section_start:1:x", "section_start: 1:x"),
        ("the ## heading [1]", "the ## heading [1]"),
    ],
)
def test_defuse(line: str, shown: str) -> None:
    assert defuse(line) == shown


words = st.sampled_from(
    ["##", "[", "vso", "TeamCity", "section_end:", "1", ":", "#", " ", "\u00a0", "e"]
)


@given(st.lists(words).map("".join))
def test_no_line_is_a_command_of_a_ci_service(line: str) -> None:
    live = r"(?i)^\s*::|##[a-z]*\[|section_(start|end):\d"
    assert not re.search(live, defuse(clean(line)))
    assert not re.search(live, defuse(line))
