from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.tune.words import Word, split_commands


def lines_of(text: str) -> list[list[tuple[str, int]]]:
    return [[(str(word), word.line) for word in words] for words in split_commands(text)]


def test_a_word_knows_the_line_it_stands_in() -> None:
    text = "vllm serve m \\\n  --port 80 \\\n  --seed 1\n"
    [words] = lines_of(text)
    assert words[0] == ("vllm", 1)
    assert words[3:] == [("--port", 2), ("80", 2), ("--seed", 3), ("1", 3)]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("a b; c", [["a", "b"], ["c"]]),
        ("a && b || c | d", [["a"], ["b"], ["c"], ["d"]]),
        ("a > log.txt 2>&1 &", [["a"]]),
        ('a \'b c\' "d \\" e" f\\ g', [["a", "b c", 'd " e', "f g"]]),
        ("a # comment 'open\nb", [["a"], ["b"]]),
        ("vllm serve <model> --port 80", [["vllm", "serve", "<model>", "--port", "80"]]),
        (
            "a ${X:-y z} $(cat b) {{ .V.m }}",
            [["a", "${X:-y z}", "$(cat b)", "{{ .V.m }}"]],
        ),
        ('a --j \'{"x": 1,\n "y": 2}\'', [["a", "--j", '{"x": 1,\n "y": 2}']]),
        ("a 'unclosed b", [["a", "'unclosed", "b"]]),
        ("a \\", [["a"]]),
        ("", []),
    ],
)
def test_text_is_split_as_a_shell_does(text: str, commands: list[list[str]]) -> None:
    assert [[str(word) for word in words] for words in split_commands(text)] == commands


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1)))
def test_what_shlex_quotes_comes_back(words: list[str]) -> None:
    expected = [words] if words else []
    assert [list(found) for found in split_commands(shlex.join(words))] == expected


@given(st.text())
def test_any_text_is_split_and_no_line_is_beyond_it(text: str) -> None:
    for words in split_commands(text):
        assert all(1 <= word.line <= text.count("\n") + 1 for word in words)


def test_a_part_of_a_word_keeps_its_place() -> None:
    assert Word("a=b", 7, "c.yaml").part("b").line == 7
    assert Word("a=b", 7, "c.yaml").part("b").where == "c.yaml"
