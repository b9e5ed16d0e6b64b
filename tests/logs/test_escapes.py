from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.escapes import strip_escapes


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38;5;196;1mbold\x1b[m", "bold"),
        ("\x1b[?25lhidden cursor\x1b[?25h", "hidden cursor"),
        ("\x1b]8;;https://x.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b_bk;t=1700000000000\x07Buildkite", "Buildkite"),
        ("\x1b(B\x1b=plain", "plain"),
        ("\x9b1mold\x9b0m", "old"),
        ("^[[1;31mcat -v^[[0m", "cat -v"),
        ("#033[32mrsyslog#033[0m", "rsyslog"),
        ("\\x1b[31mrepr\\x1b[0m \\u001b[1mjson\\u001b[0m \\033[1msh\\033[0m", "repr json sh"),
        ("[31mlost escape[0m", "lost escape"),
        ("[model_runner.py:302] [mask]", "[model_runner.py:302] [mask]"),
        ("a\x08ab\x08b", "ab"),
        ("|\x08/\x08-\x08done", "done"),
        ("a\u00a0b\u2003c\u200bd\ufeff", "a b cd"),
        ("\u2018foo\u2019 \u201cbar\u201d", "'foo' \"bar\""),
        ("a\tb\x00\x01\x7f", "a\tb"),
        ("\u202eright to left\u2066", "right to left"),
        ("unfinished \x1b]0;title", "unfinished 0;title"),
        ("C:\\Users\\x\\e\\033", "C:\\Users\\x\\e\\033"),
        ("", ""),
    ],
)
def test_what_a_terminal_would_show(text: str, shown: str) -> None:
    assert strip_escapes(text) == shown


@given(st.text())
def test_nothing_that_controls_is_left(text: str) -> None:
    shown = strip_escapes(text)
    assert not any(ord(char) < 0x20 and char != "\t" for char in shown)
    assert not any(0x7F <= ord(char) < 0xA0 for char in shown)


@given(st.text(st.characters(codec="ascii", categories=["L", "N", "Zs"])))
def test_plain_words_stay(text: str) -> None:
    assert strip_escapes(text) == text
