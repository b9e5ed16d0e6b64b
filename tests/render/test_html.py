"""The page as text: well formed, inert, complete. What a browser makes of it is tested apart."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.facts import known
from flashdoctor.model.finding import Advice, Evidence, Finding, Report
from flashdoctor.model.smoke import Case, Reason, Shape, SmokeCase, SmokeReport, Started
from flashdoctor.model.snapshot import of
from flashdoctor.render.context import Context
from flashdoctor.render.html import render
from flashdoctor.render.html_markup import escaped, source_link, tag
from flashdoctor.render.html_stack import stack_drawing
from flashdoctor.render.outline import outline
from flashdoctor.render.stack import Part
from flashdoctor.render.style import Style

Build = Callable[[str], Report]
VOID = {"meta", "input"}
ATTRIBUTES = {
    "aria-controls", "aria-hidden", "aria-label", "aria-labelledby", "autocomplete", "charset",
    "class", "content", "d", "data-exit-code", "data-rule", "data-severity", "data-verdict", "for",
    "height", "hidden", "href", "http-equiv", "id", "lang", "name", "open", "preserveaspectratio",
    "rel", "role", "scope", "spellcheck", "type", "viewbox", "width",
}  # fmt: skip
SHAPE = Shape(batch=4, q_len=4096, kv_len=4096, heads=16, kv_heads=16, head_dim=128)


class Page(HTMLParser):
    """A document as a parser sees it; a tag that does not close its own raises."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.append((self.open[-1], data))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def of(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]

    def text(self) -> str:
        return "".join(data for tag, data in self.texts if tag not in {"style", "script"})


def assert_inert(page: Page) -> None:
    """Assert that only our two blocks are live, and that links lead to sources or into the page."""
    names = {name for _, attributes in page.tags for name in attributes}
    assert names <= ATTRIBUTES
    assert len(page.of("script")) == len(page.of("style")) == 1
    assert {tag for tag, _ in page.tags}.isdisjoint({"img", "iframe", "object", "link", "base"})
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for tag_name, attributes in page.tags:
        link = attributes.get("href")
        if link is not None:
            assert tag_name == "a"
            assert link.removeprefix("#") in ids or link.startswith("https://")
        for name in ("aria-labelledby", "aria-controls", "for"):
            assert attributes.get(name) is None or attributes[name] in ids
    assert_policy(page)


def assert_policy(page: Page) -> None:
    [policy] = [each["content"] for each in page.of("meta") if "http-equiv" in each]
    assert policy is not None
    blocks = {
        name: "".join(d for tag, d in page.texts if tag == name) for name in ("style", "script")
    }
    for name, text in blocks.items():
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "url(" not in blocks["style"]
    assert not re.search(r"https?:|fetch|XMLHttp|innerHTML|eval", blocks["script"])


def test_every_report_is_well_formed_and_inert(sample_report: Report) -> None:
    page = Page(render(sample_report, Style()))
    assert_inert(page)
    [body] = page.of("body")
    assert body["data-verdict"] == sample_report.verdict
    assert body["data-exit-code"] == str(sample_report.exit_code)
    assert [each["data-rule"] for each in page.of("article")] == [
        item.id for item in sample_report.findings
    ]


def test_every_fact_and_every_skip_is_told(build_report: Build) -> None:
    report = build_report("fail")
    page = Page(render(report, Style()))
    text = page.text()
    assert all(fact.path in text and fact.source in text for fact in report.snapshot)
    for reason in ("not known: CUDA toolkit; nvcc timed out", "not known: vLLM torch pin"):
        assert reason in text
    assert all(rule in text for rule in report.passed)


def test_what_needs_the_script_is_hidden_without_it(build_report: Build) -> None:
    page = Page(render(build_report("fail"), Style()))
    assert page.of("button")
    assert all("hidden" in button for button in page.of("button"))
    assert [each for each in page.of("div") if each.get("role") == "search" and "hidden" in each]
    assert not [each for each in page.of("tr") if "hidden" in each]


def test_what_is_not_believed_stands_beside_what_is(build_report: Build) -> None:
    text = Page(render(build_report("conflicts"), Style())).text()
    assert "not believed: 565.57.01 (nvidia-smi -q -x)" in text


def test_markup_from_outside_is_text() -> None:
    nasty = "<script>alert(1)</script><img src=x onerror=alert(1)>\"' &lt;"
    finding = Finding(
        id="FD1", name=nasty, cause="c", outcome="fail", severity="error", title=nasty, layer=nasty,
        evidence=(Evidence(line=3, value=nasty, where=nasty),), sources=(nasty,), detail=nasty,
        fix=Advice(text=nasty, commands=(nasty,)),
    )  # fmt: skip
    facts = of([known("gpu.name", nasty, nasty), known("live.error", nasty, nasty)])
    report = Report(verdict="fail", exit_code=1, snapshot=facts, findings=(finding,))
    page = Page(render(report, Style(), Context(command="diagnose", source=f"{nasty}.log")))
    assert_inert(page)
    assert page.text().count("<img src=x onerror=alert(1)>\"' &lt;") > 8


@given(st.text())
def test_any_text_survives_escaping(text: str) -> None:
    flat = text.replace("\n", " ").replace("\r", "")
    page = Page(tag("td", flat, title=flat))
    assert page.text() == flat.replace("\x00", "\ufffd") or "\x00" in flat
    assert page.tags[0][1]["title"] == flat
    assert escaped(escaped(flat)) == escaped(flat)


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("https://example.org/a-b#c (checked 2026-11-30)", "https://example.org/a-b#c"),
        ("https://example.org", "https://example.org"),
        ("wheels of torch 2.6 (checked 2026-11-30)", None),
        ("http://example.org/", None),
        ("javascript:alert(1)", None),
        ("https://user@example.org/", None),
        ("https://example.org/ and more", None),
        ('https://example.org/"onclick="x', None),
    ],
)
def test_only_a_plain_address_is_linked(text: str, link: str | None) -> None:
    page = Page(source_link(text))
    assert [each["href"] for each in page.of("a")] == ([link] if link else [])
    assert escaped(text) == re.sub("<[^>]*>", "", source_link(text))


def test_the_broken_joint_is_marked_below_the_upper_layer(build_report: Build) -> None:
    report = build_report("fail")
    said = outline(report)
    drawing = stack_drawing(said.parts, said.items)
    joint = re.search(r'flash</?.*?<li class="joint error">(.*?)</li>.*?torch', drawing, re.DOTALL)
    assert joint
    assert "flash \u00d7 torch: flash-attn was built for another torch" in joint[1]
    assert drawing.index("transformers") < drawing.index(">flash<") < drawing.index(">driver<")
    assert "FD690" not in drawing


def test_a_fault_within_one_layer_is_marked_inside_it(build_report: Build) -> None:
    item = outline(build_report("fail")).items[0]
    alone = item._replace(evidence=item.evidence[:1])
    drawing = stack_drawing([Part("flash", "error", "2.8.3"), Part("torch", "good", "2")], [alone])
    assert '<div class="joint inner error">' in drawing
    assert '<li class="joint' not in drawing


def test_a_sound_stack_has_no_broken_joint(build_report: Build) -> None:
    report = build_report("pass_live")
    assert 'class="joint' not in render(report, Style())


def smoked(*times: float | None) -> SmokeReport:
    case = Case(name="c", api="flash-attn", backend="fa2", label="flash-attn, causal", shape=SHAPE,
                dtype="bf16", expected=("fa2",))  # fmt: skip
    ran = [
        SmokeCase(case=case, status="proven", family="fa2", kernel="void flash::k<1>()", ms=ms,
                  peak_mib=None if ms is None else ms * 100, gain_over_math=12.0)
        for ms in times
    ]  # fmt: skip
    refused = SmokeCase(case=case, status="refused", reasons=(Reason(cause="x", text="no sm_70"),))
    return SmokeReport(
        verdict="pass", exit_code=0, cases=(*ran, refused), versions={"flash-attn": "2.8.3"},
        started=Started(torch="2.11.0+cu130", device="NVIDIA H200", capability="9.0"),
    )  # fmt: skip


def bars(text: str, kind: str) -> list[int]:
    return [
        int(found) for found in re.findall(rf'<svg class="{kind}"[^>]*><rect width="(\d+)"', text)
    ]


def test_bars_are_as_long_as_the_numbers_are_large() -> None:
    text = render(smoked(0.5, 2.0, 0.0001), Style(), Context(command="smoke"))
    assert bars(text, "bar") == bars(text, "bar memory") == [250, 1000, 1]
    shown = Page(text).text()
    assert "0.50 ms, 12 x math" in shown
    assert "200 MiB at its peak" in shown
    assert "flash::k" in shown
    assert "no sm_70" in shown


def test_bars_compare_calls_of_the_same_sizes_alone() -> None:
    report = smoked(0.5, 2.0)
    other = replace(report.cases[0].case, shape=replace(SHAPE, q_len=1, kv_heads=4))
    small = replace(report.cases[0], case=other, ms=0.01, peak_mib=3.0)
    both = replace(report, cases=(*report.cases, small))
    text = render(both, Style(), Context(command="smoke"))
    assert bars(text, "bar") == bars(text, "bar memory") == [250, 1000, 1000]
    shown = Page(text).text()
    assert "4 x 4096 tokens, 16 heads of 128, bf16" in shown
    assert "4 x 1 to 4096 tokens, 16/4 heads of 128, bf16" in shown
    assert "Bars compare calls of the same sizes" in shown


def test_a_pass_says_what_it_rests_on(build_report: Build) -> None:
    shown = Page(render(build_report("pass_live"), Style())).text()
    assert "No rule found a fault: 5 passed" in shown
    assert "torch imports" in shown


@pytest.mark.parametrize(("name", "unfolded"), [("undetermined", True), ("pass", False)])
def test_skipped_rules_are_unfolded_where_they_are_the_verdict(
    build_report: Build, name: str, *, unfolded: bool
) -> None:
    text = render(build_report(name), Style())
    found = re.search(r'<details( open)?>\s*<summary>\s*<h2 id="skipped-title">', text)
    assert found is not None
    assert bool(found[1]) == unfolded


@pytest.mark.parametrize("ms", [None, 0.0, -1.0, float("nan"), float("inf"), 1e300])
def test_a_time_that_cannot_be_drawn_has_no_bar(ms: float | None) -> None:
    text = render(smoked(ms), Style(), Context(command="smoke"))
    assert_inert(Page(text))
    assert max(bars(text, "bar"), default=0) == 0


def test_a_smoke_run_draws_the_stack_it_ran_on() -> None:
    text = Page(render(smoked(1.0), Style(), Context(command="smoke"))).text()
    assert all(part in text for part in ("NVIDIA H200, sm_90", "flash-attn 2.8.3", "torch.version"))


def test_a_check_draws_the_kernels_that_it_saw() -> None:
    cases = [
        {"name": "flash-attn", "family": "fa2", "kernel": "flash::k", "status": "proven",
         "proven": True, "ms": 0.81, "gain": 32.0},
        {"name": "math", "status": "proven", "proven": True, "ms": 26.0, "family": "math"},
    ]  # fmt: skip
    facts = of([known("smoke.cases", cases, "a child of the target Python")])
    text = render(Report(verdict="pass", exit_code=0, snapshot=facts), Style())
    assert bars(text, "bar") == [31, 1000]
