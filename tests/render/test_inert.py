"""Markdown is read here by the parser that rich brings along, with the extensions of GitHub."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from flashdoctor.model.finding import Report
from flashdoctor.render.clean import clean
from flashdoctor.render.context import Context
from flashdoctor.render.inert import cell, fenced, prose, span
from flashdoctor.render.markdown import LIMIT, render
from flashdoctor.render.style import Style

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
CODE = {"code_inline", "fence"}
LIVE = {"link_open", "image", "html_inline", "html_block", "em_open", "strong_open", "s_open",
        "code_block", "hr", "blockquote_open", "ordered_list_open"}  # fmt: skip
REFERENCE = re.compile(r"@\w|#\d|://|www\.|[<>$~&]|:\w+:|\b[0-9a-f]{7,}\b(?<![a-z]{7})")
HOSTILE = [
    "@octocat", "see @org/team.", "(@me)", "#12", "org/repo#12", "GH-12", "http://e.test/a",
    "www.e.test", "a@b.example", "<script>alert(1)</script>", "<img src=x>", "<!-- x -->",
    "[a](javascript:x)", "![a](b)", "**b** _i_ ~~s~~", "`", "``` x", "a `b` c", "\\`@me\\`",
    "| a | b |", "# head", "- item", "1. one", "> quote", "---", "===", ":tada:", "$x$ $$y$$",
    "&lt;b&gt;", "deadbeef1", "line  \n# two", "\\", "!x", "[^1]", "\t code", "    code",
]  # fmt: skip


def tokens(text: str) -> Iterator[Token]:
    for token in PARSER.parse(text):
        yield token
        yield from token.children or ()


def assert_inert(text: str) -> None:
    for token in tokens(text):
        assert token.type not in LIVE, (token.type, token.content, text)
        if token.type == "text":
            assert not REFERENCE.search(token.content), (token.content, text)


texts = (
    st.text(max_size=50)
    | st.sampled_from(HOSTILE)
    | st.text("`|\\@#<>[]()!*_~-+=. a1", max_size=30)
)


@pytest.mark.parametrize("text", HOSTILE)
def test_prose_stays_prose(text: str) -> None:
    assert_inert(prose(text))
    assert_inert(f"- {prose(f'a word, {text} and more')}")
    assert_inert(f"#### {prose(text)}")


@given(texts)
@settings(max_examples=300, deadline=None)
def test_any_prose_is_inert(text: str) -> None:
    assert_inert(prose(clean(text)))
    assert_inert(f"- x: {prose(clean(text))}")


@given(texts)
@settings(max_examples=300, deadline=None)
def test_a_span_holds_all_of_its_text(text: str) -> None:
    flat = " ".join(clean(text).split())
    found = [token for token in tokens(f"x {span(flat)} y") if token.type == "code_inline"]
    assert [token.content for token in found] == ([flat] if flat else [])


@given(st.lists(texts, min_size=1, max_size=4))
@settings(deadline=None)
def test_no_line_ends_a_fence(lines: list[str]) -> None:
    clean_lines = [clean(line) for line in lines]
    [token] = PARSER.parse("\n".join(fenced(clean_lines, "sh")))
    assert token.type == "fence"
    assert token.content.split("\n")[:-1] == [line for line in clean_lines if line]


@given(texts, texts)
@settings(deadline=None)
def test_a_table_keeps_its_columns(one: str, two: str) -> None:
    row = f"| {cell(span(clean(one)))} | {cell(prose(clean(two)))} |"
    found = list(tokens(f"| a | b |\n| --- | --- |\n{row}"))
    assert sum(token.type == "td_open" for token in found) == 2


def test_plain_words_are_left_as_they_are() -> None:
    for text in (
        "flash-attn 2.7.4.post1 was built for torch 2.6, old C++ ABI (checked 2026-11-30).",
        'It says "no", and/or 50%: torch 2.7.1+cu126 goes.',
    ):
        assert prose(text) == text
    assert prose("set --seed x and FOO_BAR=1, then") == "set `--seed` x and `FOO_BAR=1,` then"


def test_every_report_is_inert(sample_report: Report) -> None:
    assert_inert(render(sample_report, Style(), Context(command="check")))


def test_a_report_fits_into_an_issue(build_report: Callable[[str], Report]) -> None:
    report = build_report("many")
    many = Report(verdict="fail", exit_code=1, snapshot=report.snapshot,
                  findings=report.findings * 40)  # fmt: skip
    text = render(many, Style(), Context())
    assert len(text) <= LIMIT
    left = re.search(r"(?m)^And (\d+) more, left out for their length\.$", text)
    assert left
    assert text.count("\n#### ") + int(left[1]) == len(many.findings)
