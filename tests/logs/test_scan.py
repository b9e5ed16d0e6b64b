from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

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

    def start(self) -> SizesFeed:
        return SizesFeed()


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


def test_only_so_many_long_lines_are_tried() -> None:
    long = "\n".join(f"It failed with {number}" + " " * 1100 for number in range(200))
    [*_, last] = read(f"{long}\nIt failed with 7", signature(1)).matches
    assert (last.line, last.count) == (201, 33)


def test_what_is_found_does_not_hang_on_where_a_chunk_ends() -> None:
    text = "\n".join(
        "It failed" if number % 997 == 0 else f"line {number}" for number in range(9000)
    )
    reading = read(text, signature(1))
    assert {match.count for match in reading.matches} == {10}
    assert reading.lines == 9000


def test_the_time_is_linear_in_the_text() -> None:
    rows = [signature(n, keywords=(f"keyword number {n}",)) for n in range(500)]

    def cost(size: int) -> float:
        text = "\n".join(f"line {number} of some log file" for number in range(size))
        start = time.process_time()
        read(text, *rows)
        return time.process_time() - start

    cost(1000)
    assert cost(40_000) < 8 * cost(10_000) + 0.2


ANY_LINE = st.text(max_size=200) | st.sampled_from(
    ["Traceback (most recent call last):", "GPU 0: Tesla T4", "torch==2.6.0", "| NVIDIA-SMI 535"]
)


@given(st.lists(ANY_LINE, max_size=30))
def test_any_text_is_read_by_all_parsers(texts: list[str]) -> None:
    lines = [Line(number, text) for number, text in enumerate(texts, start=1)]
    reading = scan(lines, index=index(signature(1)), parsers=load_parsers())
    assert reading.crashed == ()
    assert reading.lines == len(texts)
