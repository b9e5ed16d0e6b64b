"""Text made to be slow: every parser reads it in time that grows with the length alone."""

from __future__ import annotations

import time

import pytest

from flashdoctor.logs.parser import Parser, load_parsers
from flashdoctor.model.log import Line

LENGTH = 4096
LINES = 20
SECONDS = 3.0

FRAGMENTS = (
    *("a", "a ", "a-1", "a==1,", "(", "/", '"', "0.", "  ", "\t", "|", "-1.0.whl ", "GPU 0: "),
    *("torch 2.0 requires ", "a.__version__ ", "OS: ", "x_", "\\", "[x]", "\u00e9", "- "),
)


@pytest.mark.parametrize("fragment", FRAGMENTS)
@pytest.mark.parametrize("parser", load_parsers(), ids=lambda parser: parser.kind)
def test_long_lines_cost_their_length(parser: Parser, fragment: str) -> None:
    texts = [(keyword + fragment * LENGTH)[:LENGTH] for keyword in parser.keywords[:LINES]]
    feed = parser.start()
    start = time.perf_counter()
    for number, text in enumerate(texts):
        list(feed.feed(Line(number, text)))
    list(feed.end())
    assert time.perf_counter() - start < SECONDS
