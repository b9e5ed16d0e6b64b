from __future__ import annotations

from collections.abc import Callable

from flashdoctor.model.finding import Report
from flashdoctor.render.findings import conflict_lines, finding_lines
from flashdoctor.render.style import Style


def test_the_root_cause_is_full_and_what_follows_is_one_line(
    build_report: Callable[[str], Report],
) -> None:
    lines = finding_lines(build_report("fail"), Style(width=120))
    assert lines[0].startswith("x flash-attn was built for another torch")
    assert lines[0].endswith("FD302")
    assert lines[-1].startswith("! transformers will say")
    assert lines[-1].endswith("FD611, follows from FD302")
    assert "Mend flash-attn first." not in "\n".join(lines)


def test_at_most_three_causes_are_full(build_report: Callable[[str], Report]) -> None:
    report = build_report("many")
    text = "\n".join(finding_lines(report, Style()))
    assert [n for n in range(1, 6) if f"mend --fault {n}" in text] == [1, 2, 3]
    assert "and 6 more (--verbose)" in text
    verbose = "\n".join(finding_lines(report, Style(verbose=True)))
    assert [n for n in range(1, 6) if f"mend --fault {n}" in verbose] == [1, 2, 3, 4, 5]
    assert "more (--verbose)" not in verbose


def test_a_warning_alone_is_full(build_report: Callable[[str], Report]) -> None:
    assert "    unset VLLM_ATTENTION_BACKEND" in finding_lines(build_report("warn"), Style())


def test_nothing_found_is_nothing_said(build_report: Callable[[str], Report]) -> None:
    report = build_report("fail")
    infos = tuple(finding._replace(severity="info") for finding in report.findings)
    assert finding_lines(build_report("pass"), Style()) == []
    assert finding_lines(report._replace(findings=infos), Style()) == []


def test_conflicts_name_both_sources(build_report: Callable[[str], Report]) -> None:
    conflicts = build_report("conflicts").snapshot.conflicts
    lines = conflict_lines(conflicts, Style(width=120))
    assert lines[0] == (
        "! sources differ about driver: 570.124.06 (NVML) is believed, not 565.57.01"
        " (nvidia-smi -q -x)"
    )
    assert lines[-1] == "  and 1 more (--verbose)"
    assert len(conflict_lines(conflicts, Style(width=120, verbose=True))) == 4
