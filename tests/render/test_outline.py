"""What holds in each of the formats that other programs read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import known
from flashdoctor.model.finding import Advice, Evidence, Finding, Question, Report, Skipped
from flashdoctor.model.lint import Engine, Launched, LintFinding, LintReport
from flashdoctor.model.smoke import Case, Shape, SmokeCase, SmokeReport
from flashdoctor.model.snapshot import of
from flashdoctor.render.context import Context
from flashdoctor.render.formats import FORMATS, text_of
from flashdoctor.render.outline import AnyReport, outline
from flashdoctor.render.style import Style

GATES = ("sarif", "junit", "github", "markdown", "html")
TOOL = {"name": "flashdoctor", "version": "0.1.0"}
TOKEN = "hf_abcdefghijKLMNOPQRSTuvwxyz0123456789"
SECRETS = (TOKEN, "alice", "ghp_0123456789abcdefghij", "sk-proj-0123456789abcdef")
NASTY = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 [bold]b[/bold] <script>alert(1)</script> ]]> -->\r\n"
    "::error::pwned\n##[error]old <img src=x onerror=alert(1)> [a](javascript:alert(1)) "
    "![i](https://e.test/x.png) https://e.test/y www.e.test @octocat #12 GH-1 `tick` ``` | a | "
    "{0} &lt; \u202eright \x9b2J\x00\x7f\ud800 caf\u00e9 a@b.example $x$ :tada: **bold** "
    f"{TOKEN} /home/alice/x C:\\Users\\alice\\x ghp_0123456789abcdefghij "
    "sk-proj-0123456789abcdef <!-- <https://e.test>"
)
Build = Callable[[str], Report]


def cause(**given: Any) -> Finding:
    defaults: dict[str, Any] = {
        "id": "LS3101",
        "name": "flash-attn-symbol-with-std-string",
        "cause": "cxx11-abi-mismatch",
        "outcome": "fail",
        "severity": "error",
        "title": "flash-attn and torch differ in the C++11 ABI",
        "layer": "flash-attn",
        "rank": 1,
        "evidence": (
            Evidence(line=212, value="ImportError: x.so: undefined symbol: _ZN3", where="line 212"),
            Evidence(fact="torch.version", value="2.7.1", where="pip list, line 31"),
        ),
        "fix": Advice(text="Install the other wheel.", commands=("pip install x",), safety="safe"),
        "sources": ("https://example.org/abi (checked 2026-11-30)",),
        "certainty": "likely",
    }
    return Finding(**{**defaults, **given})


def diagnosed() -> Report:
    benign = cause(id="LS9001", title="A harmless line", layer="benign", severity="info")
    return Report(
        verdict="fail",
        exit_code=1,
        snapshot=of([known("torch.version", "2.7.1", "pip list")]),
        findings=(cause(), benign),
        ask=(Question(command="nvidia-smi | head -4", why="would confirm the driver"),),
        matrix_date="2026-11-30",
        tool=TOOL,
    )


def linted() -> LintReport:
    finding = cause(
        id="FD754",
        name="launch-value-wrong",
        title="--gpu-memory-utilization is a fraction, not 2",
        layer="launch",
        evidence=(Evidence(line=3, value="--gpu-memory-utilization 2", where="the command"),),
        fix=Advice(text="Write --gpu-memory-utilization 0.9 instead."),
        certainty=None,
    )
    other = finding._replace(title="--seed takes a number", severity="warning")
    engine = Engine("0.11.0", "--engine-version", "the tables", exact=True)
    return LintReport(
        verdict="fail",
        exit_code=1,
        launches=(Launched(2, "vllm serve x", engine),),
        findings=(
            LintFinding(finding=finding, flag="--gpu-memory-utilization", line=3),
            LintFinding(finding=other, flag="--seed", line=4, where="config.yaml"),
        ),
        matrix_date="2026-11-30",
        tool=TOOL,
    )


def proven() -> SmokeReport:
    shape = Shape(batch=4, q_len=4096, kv_len=4096, heads=16, kv_heads=16, head_dim=128)
    case = Case(name="sdpa-flash-d128", api="sdpa", backend="flash", label="SDPA, flash only",
                shape=shape, dtype="bf16", expected=("torch-flash",))  # fmt: skip
    ran = SmokeCase(case=case, status="proven", family="torch-flash", kernel="k", ms=0.9)
    wrong = cause(id="FD410", name="attention-output-wrong", layer="kernel", certainty=None)
    return SmokeReport(
        verdict="fail", exit_code=1, cases=(ran,), findings=(wrong,), note="a note", tool=TOOL
    )


CONTEXTS: Mapping[str, Context] = {
    "diagnose": Context(command="diagnose", source="logs/job 1.log"),
    "lint": Context(command="lint", source="serve.sh"),
    "smoke": Context(command="smoke"),
    "fail": Context(
        source="",
        pins={"flash_attn": ("requirements.txt", 7)},
    ),
    "pass": Context(),
    "undetermined": Context(source="node.json", lines={"driver.version": 12}),
}


@pytest.fixture
def build(build_report: Build) -> Callable[[str], AnyReport]:
    others: Mapping[str, Callable[[], AnyReport]] = {
        "diagnose": diagnosed,
        "lint": linted,
        "smoke": proven,
    }
    return lambda name: others[name]() if name in others else build_report(name)


@pytest.mark.parametrize("which", CONTEXTS)
@pytest.mark.parametrize("form", GATES)
def test_golden(
    form: str,
    which: str,
    build: Callable[[str], AnyReport],
    golden: Callable[[str, str], None],
) -> None:
    text = text_of(form, build(which), Style(), CONTEXTS[which])
    golden(f"{form}_{which}.txt", without_constants(text) if form == "html" else text)


def without_constants(text: str) -> str:
    """Return a page without its style sheet, its script and their hashes: each is the same."""
    bare = re.sub(r"(?s)(<(style|script)>).*?(</\2>)", r"\1\3", text)
    return re.sub(r"sha256-[\w+/=]+", "sha256-", bare)


def ids(form: str, text: str) -> list[str]:
    """Return the ids of the findings that a text tells, in its order."""
    if form == "json":
        return [item["id"] for item in json.loads(text)["findings"]]
    if form == "sarif":
        return [item["ruleId"] for item in json.loads(text)["runs"][0]["results"]]
    if form == "github":
        return re.findall(r"(?m)^::\w+ (?:[^\n:]*,)?title=([A-Z]{2}\d+) ", text)
    if form == "markdown":
        return re.findall(r"(?m)^`(\w+)` (?:error|warning|info)", text)
    if form == "html":
        return re.findall(r'<article [^>]*data-rule="(\w*)', text)
    cases = [case for case in ET.fromstring(text).iter("testcase") if len(case)]
    told = [case.attrib["name"] for case in cases if case[0].tag != "skipped"]
    return [name.split()[0] for name in told if name != "verdict"]


@pytest.mark.parametrize("which", [*CONTEXTS, "warn", "many", "conflicts", "crash"])
def test_every_format_tells_the_same_findings(
    which: str, build: Callable[[str], AnyReport]
) -> None:
    report, context = build(which), CONTEXTS.get(which, Context())
    told = {form: ids(form, text_of(form, report, Style(), context)) for form in GATES}
    expected = ids("json", text_of("json", report, Style(), context))
    once = list(dict.fromkeys(expected))
    for form in GATES:
        assert told[form] == (once if form == "junit" else expected), form
    shown = text_of("terminal", report, Style(verbose=True), context)
    bad = {item.id for item in outline(report, context).items if item.severity != "info"}
    assert all(name in shown for name in bad)


@pytest.mark.parametrize("form", GATES)
def test_a_verdict_that_could_not_be_had_is_no_pass(form: str, build_report: Build) -> None:
    text = text_of(form, build_report("nothing"), Style(), Context())
    if form == "sarif":
        [run] = json.loads(text)["runs"]
        assert run["invocations"][0]["executionSuccessful"] is False
    elif form == "junit":
        assert ET.fromstring(text).attrib["errors"] == "1"
    else:
        starts = {"github": "(?m)^::error ", "markdown": "^### UNDETERMINED"}
        assert re.search(starts.get(form, '<span class="badge">UNDETERMINED<'), text)


def nasty_reports(build_report: Build) -> Iterator[tuple[AnyReport, Context]]:
    bad: dict[str, Any] = {
        "name": NASTY,
        "cause": NASTY,
        "title": NASTY,
        "detail": NASTY,
        "layer": NASTY,
        "evidence": (
            Evidence(line=7, value=NASTY, where=NASTY),
            Evidence(fact="gpu.name", value=NASTY, where=NASTY),
            Evidence(fact="python.shadowed", value=["::error::", NASTY], where=""),
        ),
        "fix": Advice(text=NASTY, commands=(NASTY, "::error::x", "```", "echo ]]>")),
        "sources": (NASTY,),
    }
    finding = cause(**bad)
    facts = of([known("gpu.name", NASTY, NASTY), known("driver.version", NASTY, NASTY)])
    skipped = (Skipped(id="FD9", needs=(NASTY,), reason=NASTY),)
    ask = (Question(command=NASTY, why=NASTY),)
    source = Context(command="diagnose", source=f"{NASTY}.log")
    base = build_report("fail")
    told: dict[str, Any] = {
        "snapshot": facts,
        "skipped": skipped,
        "ask": ask,
        "missing": ("gpu.name",),
    }
    yield base._replace(findings=(finding,), **told), replace(source, command="check")
    yield base._replace(findings=(finding,), **told), source
    yield base._replace(verdict="undetermined", findings=(finding,), **told), source
    lint = LintFinding(finding=finding, flag=NASTY, line=1, replacement=NASTY, where=NASTY)
    engine = Engine(NASTY, NASTY, NASTY, exact=False)
    launch = Launched(1, NASTY, engine)
    yield replace(linted(), findings=(lint,), launches=(launch,)), replace(source, command="lint")
    yield replace(proven(), findings=(finding,), note=NASTY), replace(source, command="smoke")


def assert_harmless(form: str, text: str, annotations: int | None = None) -> None:
    assert text.endswith("\n")
    assert all(line.isprintable() for line in text.split("\n"))
    text.encode("utf-8")
    assert "##[" not in text
    commands = [line for line in text.split("\n") if line.lstrip().startswith("::")]
    if form != "github":
        assert commands == []
        return
    for line in commands:
        assert re.match(r"::(error|warning|notice) ([a-z]+=[^:,]*,?)+::", line), line
    assert annotations is None or len(commands) == annotations


@pytest.mark.parametrize("form", GATES)
def test_nothing_hostile_is_live_and_nothing_leaks(form: str, build_report: Build) -> None:
    for report, context in nasty_reports(build_report):
        text = text_of(form, report, Style(), context)
        undetermined = report.verdict == "undetermined"
        assert_harmless(form, text, len(report.findings) + undetermined)
        assert not [secret for secret in SECRETS if secret in text]
        assert len(ids(form, text)) == len(report.findings) or form == "junit"


def test_every_part_of_an_outline_is_a_clean_line(build_report: Build) -> None:
    for report, context in nasty_reports(build_report):
        said = outline(report, context)
        for text in texts_of((said.headline, said.notes, said.items, said.skipped, said.parts)):
            assert text.isprintable()
            assert not [secret for secret in SECRETS if secret in text]


def texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from texts_of(item)


def test_formats_of_the_gate_are_those_that_take_a_context() -> None:
    assert set(FORMATS) == {"terminal", "json", *GATES}


texts = st.text(max_size=40) | st.sampled_from(
    [NASTY, "::error::x", "##[group]", "a\n::error::", "]]>", "`", "|", "\\", "1. x", "-", "\u2028"]
)
values = st.none() | st.booleans() | st.integers() | st.floats() | texts | st.lists(texts)
paths = st.sampled_from(sorted(FACTS)) | texts


@st.composite
def findings(draw: st.DrawFn) -> Finding:
    fact = draw(st.none() | paths)
    place = draw(st.none() | st.integers(-1, 10**12))
    return Finding(
        id=draw(texts),
        name=draw(texts),
        cause=draw(texts),
        outcome=draw(st.sampled_from(["fail", "crash"])),
        severity=draw(st.sampled_from(["error", "warning", "info"])),
        title=draw(texts),
        layer=draw(texts),
        evidence=(Evidence(fact=fact, value=draw(values), where=draw(texts), line=place),),
        fix=Advice(text=draw(texts), commands=tuple(draw(st.lists(texts, max_size=2)))),
        sources=(draw(texts),),
        follows=draw(st.none() | texts),
        detail=draw(texts),
    )


@st.composite
def reports(draw: st.DrawFn) -> Report:
    return Report(
        verdict=draw(st.sampled_from(["pass", "warn", "fail", "undetermined"])),
        exit_code=draw(st.sampled_from([0, 1, 3])),
        snapshot=of([known(draw(paths), draw(values), draw(texts))]),
        findings=tuple(draw(st.lists(findings(), max_size=3))),
        skipped=(Skipped(id=draw(texts), needs=(draw(paths),), reason=draw(texts)),),
        passed=tuple(draw(st.lists(texts, max_size=2))),
        missing=tuple(draw(st.lists(paths, max_size=2))),
        matrix_date=draw(texts),
        tool=draw(st.dictionaries(st.sampled_from(["name", "version"]), texts)),
        ask=(Question(command=draw(texts), why=draw(texts)),),
    )


@given(
    reports(),
    st.sampled_from(GATES),
    st.builds(
        Context,
        command=st.sampled_from(["check", "diagnose"]),
        source=texts,
        lines=st.dictionaries(paths, st.integers(1, 9)),
        fail_on=st.sampled_from(["error", "warning", "never"]),
    ),
)
@settings(max_examples=200, deadline=None)
def test_any_report_is_well_formed_and_harmless(
    report: Report, form: str, context: Context
) -> None:
    text = text_of(form, report, Style(), context)
    extra = report.verdict == "undetermined"
    assert_harmless(form, text, len(report.findings) + extra)
    if form == "sarif":
        assert len(json.loads(text)["runs"][0]["results"]) == len(report.findings)
    if form == "junit":
        suite = ET.fromstring(text)[0]
        said = outline(report, context)
        rules = {item.id for item in said.items}
        others = [rule for rule in (*said.passed, *said.skipped) if rule.id not in rules]
        assert len(suite.findall("testcase")) == len(rules) + len(others) + extra
