from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.matcher import Index, make_index
from flashdoctor.logs.parser import Parser, load_parsers
from flashdoctor.logs.scan import MAX_LINE, scan
from flashdoctor.model.facts import known
from flashdoctor.model.log import Found, Line, Match, Reading, Signature


def signature(number: int, **changes: Any) -> Signature:
    row: dict[str, Any] = {
        "id": f"LS{number:04}",
        "name": f"row-{number}",
        "keywords": ("it failed",),
        "pattern": r"It failed(?: with (?P<code>\d+))?",
        "cause": "some-cause",
    }
    return Signature(**(row | changes))


def index(*rows: Signature) -> Index:
    return make_index(rows)


def read(text: str, *rows: Signature, parsers: tuple[Parser, ...] = ()) -> Reading:
    lines = (Line(number, text) for number, text in enumerate(text.split("\n"), start=1))
    return scan(lines, index=index(*rows), parsers=parsers)


class Sizes:
    """A parser of `size N` lines; a line `begin` opens it until `end`. `boom` makes it crash."""

    kind = "sizes"
    keywords = ("size ", "begin", "boom")

    def __init__(self) -> None:
        self.feeds: list[SizesFeed] = []

    def start(self) -> SizesFeed:
        self.feeds.append(SizesFeed())
        return self.feeds[-1]


class SizesFeed:
    def __init__(self) -> None:
        self.open = False
        self.seen: list[int] = []

    def feed(self, line: Line) -> Iterator[Found]:
        self.seen.append(line.number)
        if line.text == "boom":
            raise RuntimeError("boom")
        self.open = (self.open or line.text == "begin") and line.text != "end"
        if line.text.startswith("size "):
            fact = known("engine.kv_tokens", int(line.text[5:]), "sizes")
            yield Found(fact=fact, line=line.number, trust=3)

    def end(self) -> Iterator[Found]:
        yield Found(fact=known("log.heads", len(self.seen), "sizes"), line=1, trust=1)


def watched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by the length of the text of each search from now on."""
    looked: list[int] = []

    class Pattern:
        def __init__(self, pattern: str) -> None:
            self._pattern = re.compile(pattern)

        def search(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
            stop = len(text) if end is None else min(end, len(text))
            looked.append(stop - start)
            return self._pattern.search(text, start, stop)

    monkeypatch.setattr("flashdoctor.logs.patterns.compiled", Pattern)
    return looked


def only(matches: Iterable[Match]) -> Match:
    [match] = matches
    return match


def test_a_match_has_its_line_its_text_and_its_facts() -> None:
    row = signature(1, captures={"code": "log.tokens_wanted"})
    reading = read("a\nb\nRuntimeError: It failed with 1,234\nd", row)
    match = only(reading.matches)
    assert (match.line, match.text, match.count) == (3, "RuntimeError: It failed with 1,234", 1)
    assert match.facts.value("log.tokens_wanted") == 1
    assert match.facts.value("log.exception") == "RuntimeError"
    assert reading.lines == 4


def test_a_line_that_is_called_a_warning_is_marked_so() -> None:
    lines = [
        Line(1, "It failed", "WARNING 01-30 13:26:29 [core.py:9] It failed"),
        Line(2, "x.py:3: UserWarning: It failed with 2", ""),
        Line(3, "It failed with 3", "ERROR 01-30 13:26:29 [core.py:9] It failed with 3"),
        Line(4, "It failed with 4, see the warnings above", ""),
    ]
    row = signature(1, captures={"code": "log.heads"})
    matches = scan(lines, index=index(row), parsers=()).matches
    assert [match.warned for match in matches] == [True, True, False, False]


def test_a_keyword_alone_suffices_where_there_is_no_pattern() -> None:
    row = signature(1, pattern="", keywords=("no such", "it FAILED".lower()))
    assert [match.line for match in read("x\nIT FAILED\n", row).matches] == [2]


def test_rows_without_a_cause_set_the_state_of_the_lines_after_them() -> None:
    state = signature(9, cause=None, keywords=("phase",), pattern=r"phase (?P<p>\w+)",
                      captures={"p": "log.phase"})  # fmt: skip
    row = signature(1)
    text = "It failed\nphase load\nIt failed\nphase serve, It failed"
    phases = [m.facts.value("log.phase") for m in read(text, row, state).matches]
    assert phases == [None, "load", "serve"]


def test_facts_about_the_machine_go_to_the_snapshot() -> None:
    row = signature(1, captures={"code": "gpu.count"}, sets={"gpu.name": "Tesla T4"})
    reading = read("It failed with 8", row)
    assert reading.snapshot.value("gpu.count") == 8
    assert reading.where == {"gpu.count": 1, "gpu.name": 1}
    assert reading.trust == {"gpu.count": 3, "gpu.name": 3}
    assert "gpu.count" not in only(reading.matches).facts


def test_many_matches_are_counted_and_few_are_kept() -> None:
    row = signature(1, captures={"code": "log.heads"})
    text = "\n".join(f"It failed with {number % 7}" for number in range(5000))
    matches = read(text, row).matches
    assert [match.line for match in matches] == [1, 2, 3, 4, 5000]
    assert {match.count for match in matches} == {5000}


def test_a_line_that_is_read_twice_counts_once() -> None:
    lines = [Line(1, "It failed"), Line(1, "It failed with 3"), Line(2, "x")]
    match = only(scan(lines, index=index(signature(1)), parsers=()).matches)
    assert (match.text, match.count) == ("It failed", 1)


def test_a_parser_sees_its_lines_and_all_while_it_is_open() -> None:
    text = "x\nsize 3\nx\nbegin\ny\nz\nend\nx\nsize 4\n"
    reading = read(text, parsers=(Sizes(),))
    assert reading.kinds == ("sizes",)
    assert reading.snapshot.value("engine.kv_tokens") == 3
    assert reading.snapshot.value("log.heads") == 6
    assert [pair.dropped.value for pair in reading.snapshot.conflicts] == [4]


def test_a_parser_without_a_fact_of_weight_is_not_recognised() -> None:
    assert read("begin\n", parsers=(Sizes(),)).kinds == ()


def test_a_parser_that_crashes_hides_nothing_else() -> None:
    reading = read("size 3\nboom\nIt failed\nsize 4", signature(1), parsers=(Sizes(),))
    assert reading.crashed == ("sizes: RuntimeError: boom",)
    assert only(reading.matches).line == 3


def test_a_keyword_behind_the_first_characters_of_a_line_is_not_looked_for() -> None:
    assert read("x" * MAX_LINE + " It failed", signature(1)).matches == ()
    assert only(read("x" * (MAX_LINE - 20) + " It failed", signature(1)).matches).line == 1


def test_of_a_long_line_the_part_around_the_match_is_kept() -> None:
    match = only(read("x" * 2000 + " It failed with 12" + "y" * 2000, signature(1)).matches)
    assert "It failed with 12" in match.text
    assert len(match.text) <= 640


def test_a_long_line_is_searched_around_its_keywords(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = watched(monkeypatch)
    row = signature(1, pattern=r"(?:a{0,200}b){0,200}It failed")
    match = only(read("a" * 3000 + " It failed " + "a" * 1000, row).matches)
    assert "It failed" in match.text
    assert sum(looked) < 2000


def test_the_work_of_one_row_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = watched(monkeypatch)
    words = [f"It fails not {'abcdefgh'[n % 8] * (n // 8 % 40)} {n}" for n in range(30_000)]
    rows = [signature(n, keywords=("it fail",)) for n in range(20)]
    text = "\n".join(["It failed with 1", *words, "It failed with 2"])
    reading = read(text, *rows)
    assert len(looked) < 12_000
    assert {(match.line, match.signature.id) for match in reading.matches} == {
        (line, row.id) for row in rows for line in (1, len(words) + 2)
    }


def test_a_row_that_was_not_tried_yet_is_tried_in_the_middle_of_a_flood() -> None:
    flood = [f"It fails not {'abcdefgh'[n % 8] * (n // 8 % 40)} {n}" for n in range(20_000)]
    rows = [signature(n, keywords=("it fail",)) for n in range(20)]
    other = signature(99, keywords=("no kernel",), pattern="no kernel image", cause="other")
    text = "\n".join([*flood[:10_000], "no kernel image is there", *flood[10_000:]])
    found = [match for match in read(text, *rows, other).matches if match.signature is other]
    assert [match.line for match in found] == [10_001]


def test_lines_of_one_kind_are_searched_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = watched(monkeypatch)
    text = "\n".join(f"It fails not, {number:06}" for number in range(5000))
    assert read(text, signature(1, keywords=("it fail",))).matches == ()
    assert len(looked) <= 8


def test_a_row_that_names_a_number_sees_every_line_of_a_kind() -> None:
    row = signature(1, keywords=("xid",), pattern=r"Xid: 79\b")
    text = "\n".join(f"Xid: {number}" for number in [31] * 50 + [79] + [43] * 50)
    assert only(read(text, row).matches).line == 51


def test_a_match_among_lines_that_differ_in_words_is_found_late() -> None:
    noise = "\n".join("It fails not, 1" for _ in range(100))
    row = signature(1, keywords=("it fail",), captures={"code": "log.heads"})
    text = f"{noise}\nIt failed with 1\n{noise}\nIt failed with 2\n{noise}"
    assert [m.line for m in read(text, row).matches] == [101, 202]


def test_the_facts_of_the_last_line_of_a_kind_are_its_own() -> None:
    row = signature(1, captures={"code": "log.heads"})
    text = "\n".join(f"It failed with {number % 10}" for number in range(1007))
    *_, last = read(text, row).matches
    assert (last.line, last.count) == (1007, 1007)
    assert last.facts.value("log.heads") == 6


def test_parsers_are_fed_less_of_a_flood_and_always_its_ends() -> None:
    parser = Sizes()
    text = "\n".join(f"size {number}" for number in range(20_000))
    reading = read(text, parsers=(parser,))
    assert reading.snapshot.value("engine.kv_tokens") == 0
    assert reading.snapshot.value("log.heads") < 4000
    assert parser.feeds[-1].seen[-1] == 20_000


def test_a_parser_that_is_open_is_fed_on_in_a_flood() -> None:
    parser = Sizes()
    flood = [f"size {number}" for number in range(20_000)]
    read("\n".join([*flood, "begin", "y", "z", "end"]), parsers=(parser,))
    assert parser.feeds[-1].seen[-4:] == [20_001, 20_002, 20_003, 20_004]


def test_what_is_found_does_not_hang_on_where_a_chunk_ends() -> None:
    text = "\n".join(
        "It failed" if number % 997 == 0 else f"line {number}" for number in range(9000)
    )
    reading = read(text, signature(1))
    assert {match.count for match in reading.matches} == {10}
    assert reading.lines == 9000


ANY_LINE = st.text(max_size=200) | st.sampled_from(
    ["Traceback (most recent call last):", "GPU 0: Tesla T4", "torch==2.6.0", "| NVIDIA-SMI 535"]
)


@given(st.lists(ANY_LINE, max_size=30))
def test_any_text_is_read_by_all_parsers(texts: list[str]) -> None:
    lines = [Line(number, text) for number, text in enumerate(texts, start=1)]
    reading = scan(lines, index=index(signature(1)), parsers=load_parsers())
    assert reading.crashed == ()
    assert reading.lines == len(texts)
