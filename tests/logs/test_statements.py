from __future__ import annotations

from flashdoctor.logs.statements import (
    MENTION,
    REPORT,
    STATED,
    TABLE_WIDTH,
    BlockParser,
    LineParser,
    read,
    say,
    say_absent,
    shorten,
)
from flashdoctor.model.facts import absent, known
from flashdoctor.model.log import Found, Line

LINE = Line(7, "text")


def test_facts_stand_in_their_line() -> None:
    assert say("os.glibc", "2.31", LINE, "x") == Found(
        fact=known("os.glibc", "2.31", "x"), line=7, trust=REPORT
    )
    assert say_absent("toolkit.version", LINE, "x") == Found(
        fact=absent("toolkit.version", "x"), line=7, trust=STATED
    )


def test_a_text_is_read_as_its_kind_or_not_at_all() -> None:
    [found] = read("engine.kv_tokens", "1,234", LINE, "x", MENTION)
    assert (found.fact.value, found.trust) == (1234, MENTION)
    assert list(read("engine.kv_tokens", "many", LINE, "x")) == []


def test_a_line_longer_than_a_table_is_cut() -> None:
    assert shorten(LINE) is LINE
    assert len(shorten(Line(1, "x" * 5000, "raw")).text) == TABLE_WIDTH


def test_a_parser_of_lines_keeps_nothing() -> None:
    parser = LineParser(kind="x", keywords=("k",), read=lambda line: [say("a", 1, line, "x")])
    feed = parser.start()
    assert [found.line for found in feed.feed(LINE)] == [7]
    assert not feed.open
    assert list(feed.end()) == []


def test_a_parser_of_blocks_starts_anew() -> None:
    inner = LineParser(kind="x", keywords=(), read=lambda _line: ())
    parser = BlockParser(kind="x", keywords=(), make=inner.start)
    assert parser.start() is not parser.start()
