from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import known, unknown
from flashdoctor.model.finding import Advice, Evidence, Finding, Report, Skipped
from flashdoctor.model.snapshot import Conflict, Snapshot, of
from flashdoctor.render.style import Style
from flashdoctor.render.terminal import render

VARIANTS = {
    "60 columns": Style(width=60),
    "80 columns": Style(width=80),
    "120 columns": Style(width=120),
    "80 columns, colour and Unicode": Style(width=80, color=True, unicode=True),
    "80 columns, verbose": Style(width=80, verbose=True),
    "quiet": Style(width=80, quiet=True),
}
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
WORKFLOW = re.compile(r"^\s*::|##\[")


def test_golden(sample: str, sample_report: Report, golden: Callable[[str, str], None]) -> None:
    parts = [f"=== {name}\n{render(sample_report, style)}" for name, style in VARIANTS.items()]
    golden(f"terminal_{sample}.txt", "\n".join(parts))


def is_free(line: str) -> bool:
    """Whether a line may be longer than the terminal: a command to copy, an address."""
    return line.startswith("    ") or "://" in line


@pytest.mark.parametrize("width", [10, 60, 80, 100, 120, 400])
def test_lines_fit(sample_report: Report, width: int) -> None:
    columns = max(60, min(width, 120))
    lines = render(sample_report, Style(width=width)).splitlines()
    assert [line for line in lines if len(line) > columns and not is_free(line)] == []


def test_a_command_is_one_unbroken_line(build_report: Callable[[str], Report]) -> None:
    report = build_report("fail")
    for width in (60, 80, 120):
        text = render(report, Style(width=width))
        for command in report.findings[0].fix.commands:
            assert f"\n    {command}\n" in text


def test_colour_changes_nothing_but_colour(sample_report: Report) -> None:
    plain = render(sample_report, Style())
    painted = render(sample_report, Style(color=True))
    assert "\x1b" not in plain
    assert set(ESCAPE.findall(painted)) <= {"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"}
    assert ESCAPE.sub("", painted) == plain


def test_plain_marks_are_ascii(build_report: Callable[[str], Report]) -> None:
    assert render(build_report("fail"), Style()).isascii()
    assert "\u2717 flash-attn was built" in render(build_report("fail"), Style(unicode=True))


def test_nothing_hostile_gets_through(build_report: Callable[[str], Report]) -> None:
    for style in (Style(), Style(width=60, verbose=True), Style(color=True, unicode=True)):
        text = render(build_report("hostile"), style)
        for line in text.split("\n"):
            bare = ESCAPE.sub("", line) if style.color else line
            assert bare.isprintable()
            assert not WORKFLOW.search(bare), bare
    assert "[bold]markup[/bold] <script>" in text


def test_a_report_fits_one_screen(build_report: Callable[[str], Report]) -> None:
    assert 15 <= render(build_report("fail"), Style()).count("\n") <= 40
    assert render(build_report("pass"), Style()).count("\n") <= 5
    assert render(build_report("pass_live"), Style()).count("\n") <= 6
    assert render(build_report("many"), Style()).count("\n") <= 50


def test_the_verdict_stands_first(sample_report: Report) -> None:
    assert render(sample_report, Style()).startswith(f"{sample_report.verdict.upper()}  ")
    assert render(sample_report, Style(quiet=True)).count("\n") == 1


def test_a_pass_never_claims_a_proof(build_report: Callable[[str], Report]) -> None:
    assert "nothing was run" in render(build_report("pass"), Style())
    assert "judged, not run" in " ".join(render(build_report("pass_live"), Style()).split())


def test_infos_are_counted_and_shown_only_when_asked(build_report: Callable[[str], Report]) -> None:
    report = build_report("fail")
    assert "1 info" in render(report, Style())
    assert "FD690" not in render(report, Style())
    assert "FD690" in render(report, Style(verbose=True))


def test_verbose_says_where_each_value_comes_from(build_report: Callable[[str], Report]) -> None:
    text = render(build_report("fail"), Style(width=120, verbose=True))
    assert "2.7.1+cu126 (torch/version.py)" in text
    assert "source https://example.org/flash-attn/releases (checked 2026-11-30)" in text
    assert "FD511  CUDA toolkit" in text
    assert "tables of 2026-11-30" in text
    assert "(torch/version.py)" not in render(build_report("fail"), Style(width=120))


texts = st.text(max_size=60) | st.sampled_from(
    [
        "::error::x",
        " ::warning file=a::",
        "##[group]",
        "\x1b[31m",
        "a\n::error::",
        "\u202e",
        "x" * 300,
    ]
)
values = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | texts
    | st.lists(texts, max_size=12)
    | st.lists(st.dictionaries(texts, texts | st.lists(texts)), max_size=5)
    | st.dictionaries(texts, st.dictionaries(texts, texts))
)
paths = st.sampled_from(sorted(FACTS)) | texts


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    facts = [known(draw(paths), draw(values), draw(texts)) for _ in range(draw(st.integers(0, 6)))]
    facts += [unknown(draw(paths), draw(texts), draw(texts))]
    conflict = Conflict(kept=facts[0], dropped=known(facts[0].path, draw(values), draw(texts)))
    return Snapshot(of(facts).facts, (conflict,) if draw(st.booleans()) else ())


@st.composite
def findings(draw: st.DrawFn) -> Finding:
    evidence = Evidence(fact=draw(st.none() | paths), value=draw(values), where=draw(texts), line=1)
    return Finding(
        id=draw(texts),
        name=draw(texts),
        cause=draw(texts),
        outcome=draw(st.sampled_from(["fail", "crash"])),
        severity=draw(st.sampled_from(["error", "warning", "info"])),
        title=draw(texts),
        layer=draw(texts),
        evidence=(evidence,),
        fix=Advice(text=draw(texts), commands=(draw(texts),)),
        sources=(draw(texts),),
        follows=draw(st.none() | texts),
        detail=draw(texts),
    )


@st.composite
def reports(draw: st.DrawFn) -> Report:
    needs = tuple(draw(st.lists(paths, max_size=3)))
    return Report(
        verdict=draw(st.sampled_from(["pass", "warn", "fail", "undetermined"])),
        exit_code=1,
        snapshot=draw(snapshots()),
        findings=tuple(draw(st.lists(findings(), max_size=5))),
        skipped=(Skipped(id=draw(texts), needs=needs, reason=draw(texts)),),
        passed=tuple(draw(st.lists(texts, max_size=3))),
        required=tuple(draw(st.lists(st.sampled_from(["sdpa", "vllm"]), max_size=2))),
        missing=needs,
        matrix_date=draw(texts),
        tool=draw(st.dictionaries(st.sampled_from(["name", "version"]), texts)),
    )


@given(reports(), st.integers(0, 200), st.booleans())
@settings(max_examples=150, deadline=None)
def test_any_report_is_harmless_printable_lines(report: Report, width: int, verbose: bool) -> None:
    text = render(report, Style(width=width, verbose=verbose))
    assert text.endswith("\n")
    for line in text.split("\n"):
        assert line.isprintable()
        assert not WORKFLOW.search(line)
    text.encode("utf-8")


@pytest.mark.parametrize(
    "value", [[], {}, "", 0, 10**400, -(10**400), -1, float("nan"), [[[]]], [{}], True]
)
def test_a_fact_of_the_wrong_type_does_not_stop_the_table(
    build_report: Callable[[str], Report], value: Any
) -> None:
    report = build_report("pass")
    facts = of([known(path, value, "somewhere") for path in FACTS])
    for verdict in ("fail", "warn", "pass", "undetermined"):
        changed = report._replace(snapshot=facts, verdict=verdict, missing=tuple(FACTS))
        assert render(changed, Style(verbose=True)).startswith(verdict.upper())
