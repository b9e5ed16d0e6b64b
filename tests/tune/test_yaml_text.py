from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.tune.words import Word
from flashdoctor.tune.yaml_text import Node, read_documents


def simple(node: Node) -> Any:
    if isinstance(node, dict):
        return {str(key): simple(value) for key, value in node.items()}
    if isinstance(node, list):
        return [simple(item) for item in node]
    return None if node is None else str(node)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\nb:\n  c: x y\n", {"a": "1", "b": {"c": "x y"}}),
        ("a:\n- 1\n- b: 2\n  c: 3\n", {"a": ["1", {"b": "2", "c": "3"}]}),
        ("a: [1, 'two, three', {b: c}]\n", {"a": ["1", "two, three", {"b": "c"}]}),
        ('a: ["--x", "--y=1",\n   "z"]\nb: 2\n', {"a": ["--x", "--y=1", "z"], "b": "2"}),
        ("a: |\n  one\n  two # no comment\nb: 1\n", {"a": "  one\n  two # no comment", "b": "1"}),
        ("a: x # comment\n# all of it\nb: 'c # d'\n", {"a": "x", "b": "c # d"}),
        ("- a\n-   - b\n    - c\n", ["a", ["b", "c"]]),
        ("a:\nb: ~\n", {"a": None, "b": "~"}),
        ('- \'{"b": 1}\'   # note\n- "x # y" # z\n', ['{"b": 1}', "x # y"]),
        ('a: it\'s so # that\nb: ["c # d"] # e\n', {"a": "it's so", "b": ["c # d"]}),
        ('a: "one # two\n  three"\n', {"a": "one # two three"}),
        ("a: one\n  more\n", {"a": "one more"}),
        ("image: host:5000/x:v1\n", {"image": "host:5000/x:v1"}),
    ],
)
def test_the_yaml_of_launch_files_is_read(text: str, value: object) -> None:
    [document] = read_documents(text)
    assert simple(document) == value


def test_documents_keep_their_lines() -> None:
    one, two = read_documents("a: 1\n---\n# x\nb:\n- 2\n")
    assert isinstance(one, dict)
    assert isinstance(two, dict)
    [key] = two
    assert key.line == 4
    items = two[Word("b")]
    assert isinstance(items, list)
    [item] = items
    assert isinstance(item, Word)
    assert item.line == 5


@given(st.text(st.sampled_from("ab: -[]{}\"'\n#|>,")))
def test_nothing_is_refused(text: str) -> None:
    assert isinstance(read_documents(text), list)


def test_deep_nesting_ends() -> None:
    assert read_documents("".join(" " * depth + "a:\n" for depth in range(500)))
    assert read_documents("a: " + "[" * 5000)
