from __future__ import annotations

from flashdoctor.logs.parser import load_parsers


def test_every_parser_has_a_name_of_its_own_and_keywords_in_small_letters() -> None:
    parsers = load_parsers()
    kinds = [parser.kind for parser in parsers]
    assert kinds
    assert len(kinds) == len(set(kinds))
    for parser in parsers:
        assert parser.keywords, parser.kind
        for keyword in parser.keywords:
            assert keyword == keyword.lower(), (parser.kind, keyword)
            assert keyword.strip(), (parser.kind, keyword)


def test_each_paste_starts_with_a_closed_feed_of_its_own() -> None:
    for parser in load_parsers():
        first, second = parser.start(), parser.start()
        assert first is not second
        assert not first.open
        assert list(first.end()) == []
