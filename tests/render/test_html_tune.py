"""The page of a planned launch as text; what a browser makes of it is in test_html_browser."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashdoctor import planning
from flashdoctor.engine.assume import read_assumptions
from flashdoctor.model.trial import Compared, GpuUse, Measured, Outcome, Trial
from flashdoctor.model.tuning import Choice, Proposal, TuneReport
from flashdoctor.render.html_memory import memory_parts
from flashdoctor.render.html_tune import render_tune_html
from flashdoctor.render.markdown_tune import render_tune_markdown
from flashdoctor.tune.emit import FORMS, emit

LLAMA = str(Path(__file__).parents[1] / "data" / "models" / "llama3.1-8b")
NASTY = "</code><script>window.hit=1</script><img src=x onerror=hit>|`\n::error::x"
MEASURED = Measured(
    workload={"requests": 1024, "prompt_tokens": 1024, "output_tokens": 256},
    outcomes=(
        Outcome(trial=Trial("defaults", {}, "the engine's own"), status="ran", output_tps=5604.3),
        Outcome(
            trial=Trial("chosen", {"max_num_seqs": 512}, "the account"), status="ran",
            output_tps=6151.3, ttft_ms=41.4, tpot_ms=4.9, start_s=78.3,
            gpu_use=GpuUse(gpu=0, before_mib=618, most_mib=133537, every_ms=100, samples=9),
        ),
        Outcome(trial=Trial("step-16384", {}, "twice"), status="died", error=NASTY),
    ),
    best="chosen", gain=1.0976, logs="trials-1",
    compared=(Compared("KV tokens", 922816.0, 919824.0, "the engine's log"),
              Compared("peak, GPU in use", 129.51, 129.8, "NVML every 100 ms")),
)  # fmt: skip


class Page(HTMLParser):
    """Elements with their texts; one that does not close its own raises."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.codes: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "input"}:
            self.open.append(tag)
        if tag == "code":
            self.codes.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"style", "script"}:
            self.text += data
        if self.open and self.open[-1] == "code":
            self.codes[-1] += data


def planned(*pins: str, gpu: str = "NVIDIA H200") -> tuple[TuneReport, dict[str, str]]:
    report, launch = planning.tune(
        LLAMA, read_assumptions([f"gpu={gpu}"]), version="0.25.1", options={"pins": pins}
    )
    return report, {form: emit(form, launch) for form in FORMS} if report.fits else {}


def test_the_page_has_the_launch_the_memory_and_every_form() -> None:
    report, emitted = planned()
    page = Page(render_tune_html(report, emitted))
    assert page.text.count("FITS") >= 1
    assert report.command in page.codes
    for text in emitted.values():
        assert text.rstrip("\n") in page.codes, "what is copied is what --emit prints"
    for choice in report.flags:
        assert choice.why in page.text
        assert choice.source.split(":", maxsplit=1)[0] in page.text
    assert report.notes[0] in page.text
    sizes = [part for part in memory_parts(report.memory) if part.size]
    drawn = [attributes for name, attributes in page.tags if name == "rect"]
    bars = [each for each in drawn if "x" in each]
    assert len(bars) == len(sizes)
    assert sum(float(each["width"] or 0) for each in bars) == pytest.approx(1000, abs=0.1)
    [chart] = [each for name, each in page.tags if each.get("class") == "chart"]
    assert "KV cache 113.2 GiB" in (chart["aria-label"] or "")


def test_what_does_not_fit_says_what_vllm_prints_and_has_nothing_to_copy() -> None:
    report, emitted = planned("gpu-memory-utilization=0.12")
    page = Page(render_tune_html(report, emitted))
    assert "DOES NOT FIT" in page.text
    assert report.refusal is not None
    assert report.refusal in page.text
    assert "LLM(...), whose batches are larger:" in page.text
    assert "What would make it fit" in page.text
    assert next(each for name, each in page.tags if name == "article")["data-rule"] == "FD791"
    assert "forms" not in {each.get("id") for _, each in page.tags}


def test_trials_are_bars_with_their_figures() -> None:
    report, emitted = planned()
    page = Page(render_tune_html(replace(report, measured=MEASURED), emitted))
    assert "6,151, 1.10 x the defaults" in page.text
    assert "first token 41.4 ms, next 4.9 ms, start 78 s, peak 129.8 GiB" in page.text
    assert "922,816" in page.text
    bars = [each for name, each in page.tags if each.get("class") == "bar"]
    assert len(bars) == 2, "a trial that did not run has no bar"


def hostile() -> tuple[TuneReport, dict[str, str]]:
    report, emitted = planned()
    bad = replace(
        report, model=NASTY, gpu=NASTY, command=NASTY, notes=(NASTY,), measured=MEASURED,
        flags=(Choice(NASTY, NASTY, NASTY, NASTY),), proposals=(Proposal(NASTY, NASTY),),
    )  # fmt: skip
    return bad, {**emitted, "shell": NASTY}


def test_hostile_text_stays_text() -> None:
    text = render_tune_html(*hostile())
    page = Page(text)
    assert [name for name, _ in page.tags].count("script") == 1
    assert not [name for name, _ in page.tags if name == "img"]
    assert not re.search(r"(?m)^\s*::error", text)


def test_markdown_holds_the_same_and_nothing_alive() -> None:
    report, _ = planned()
    text = render_tune_markdown(replace(report, measured=MEASURED))
    assert text.startswith("### FITS: ")
    assert f"```sh\n{report.command}\n```" in text
    assert "| `--max-num-seqs 512` |" in text
    assert "| KV cache | 113.2 GiB |" in text
    assert "| `chosen` | 6,151 | 1.10 x | 41.4 ms | 4.9 ms |" in text
    assert "| KV tokens | 922,816 | 919,824 | +0.3 % |" in text
    bad = render_tune_markdown(hostile()[0])
    outside = re.sub(r"(`+).*?\1", "", bad, flags=re.DOTALL)
    assert "<script" not in outside
    assert not re.search(r"(?m)^\s*::error", bad)


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_page(text: str) -> None:
    report, _ = PLANNED
    changed = replace(report, model=text, notes=(text,), command=text)
    page = Page(render_tune_html(changed, {"shell": text}))
    assert [name for name, _ in page.tags].count("script") == 1


PLANNED = planned()
