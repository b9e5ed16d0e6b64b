from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from flashdoctor.model.finding import Advice, Evidence, Finding
from flashdoctor.model.lint import Engine, Launched, LintFinding, LintReport
from flashdoctor.model.rule import Severity
from flashdoctor.render.lint_text import lint_text
from flashdoctor.render.style import Style

ENGINE = Engine("0.25.1", "--engine-version", "the tables", exact=True)
NEARLY = Engine("0.25.0", "the tag of the image", "the tables", exact=False)
HOSTILE = "\x1b[31mred\x1b[0m\n::error::pwned ##[error]old \u202e"


def found(number: int, severity: Severity, title: str, line: int, **given: str) -> LintFinding:
    finding = Finding(
        id=f"FD75{number}",
        name="launch-flag-unknown",
        cause="vllm-flag-unrecognized",
        outcome="fail",
        severity=severity,
        title=title,
        layer="launch",
        rank=number,
        detail=given.get("detail", ""),
        evidence=(Evidence(given.get("word", "--disable-cuda-graph"), "the command", line=line),),
        fix=Advice(text=given.get("advice", "Write --enforce-eager instead.")),
        sources=("sglang 0.5.9 srt/server_args.py (checked 2026-11-30)",),
    )
    flag = given.get("word", "--disable-cuda-graph")
    return LintFinding(finding=finding, flag=flag, line=line, where=given.get("where", ""))


def report(*findings: LintFinding, engine: Engine = ENGINE) -> LintReport:
    severities = {item.finding.severity for item in findings}
    verdict = "fail" if "error" in severities else "warn" if "warning" in severities else "pass"
    launch = Launched(1, "vllm serve m --api-key <secret>", engine)
    return LintReport(
        verdict=verdict,  # type: ignore[arg-type]  # one of three literals
        exit_code=int(verdict == "fail"),
        launches=(launch,),
        findings=findings,
    )


def _fail() -> LintReport:
    return report(
        found(0, "error", "vLLM 0.25.1 has no --disable-cuda-graph: it is a flag of SGLang", 2,
              detail="SGLang has it. No vLLM does. Folklore: disable-cuda-graph."),
        found(6, "warning", "vLLM 0.25.1 ignores VLLM_USE_V1: 0.11.0 was the last to read it", 1,
              word="VLLM_USE_V1=0", advice="Leave it out."),
        found(4, "info", "an info is not shown", 3),
    )  # fmt: skip


def _config() -> LintReport:
    one = found(1, "error", "--swap-space is gone", 12, word="--swap-space", where="c.yaml")
    return report(one, engine=NEARLY)


def _many() -> LintReport:
    return report(*(found(0, "error", f"flag number {number}", number) for number in range(1, 30)))


def _hostile() -> LintReport:
    one = found(0, "error", HOSTILE, 1, word=HOSTILE, advice=HOSTILE, detail=HOSTILE, where=HOSTILE)
    return report(one, engine=Engine(HOSTILE, HOSTILE, HOSTILE, exact=False))


SAMPLES: Mapping[str, Callable[[], LintReport]] = {
    "pass": report,
    "fail": _fail,
    "config": _config,
    "many": _many,
    "hostile": _hostile,
}
PLAIN = Style(width=80)
LOUD = Style(width=100, color=True, unicode=True, verbose=True)


@pytest.mark.parametrize("name", SAMPLES)
def test_screens(name: str, golden: Callable[[str, str], None]) -> None:
    sample = SAMPLES[name]()
    screens = (lint_text(sample, style) for style in (PLAIN, PLAIN._replace(quiet=True), LOUD))
    golden(f"lint_{name}.txt", "\n----\n\n".join(screens))


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_fit_the_terminal(name: str, width: int) -> None:
    for line in lint_text(SAMPLES[name](), Style(width=width)).splitlines():
        assert len(line) <= width + (name == "hostile")  # a blank that defuses a line


def test_nothing_hostile_gets_through() -> None:
    for style in (PLAIN, PLAIN._replace(verbose=True)):
        text = lint_text(_hostile(), style)
        assert not any(mark in text for mark in ("\x1b", "\u202e", "##["))
        assert not any(line.lstrip().startswith("::") for line in text.splitlines())
