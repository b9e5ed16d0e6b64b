from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashdoctor.model.facts import known
from flashdoctor.model.finding import Advice, Certainty, Evidence, Finding, Question, Report
from flashdoctor.model.rule import Severity
from flashdoctor.model.snapshot import Conflict, Snapshot, of
from flashdoctor.render.diagnosis_text import diagnosis_text
from flashdoctor.render.style import Style

VARIANTS = {
    "60 columns": Style(width=60),
    "80 columns": Style(width=80),
    "120 columns": Style(width=120),
    "80 columns, colour and Unicode": Style(width=80, color=True, unicode=True),
    "80 columns, verbose": Style(width=80, verbose=True),
    "quiet": Style(width=80, quiet=True),
}
WORKFLOW = re.compile(r"^\s*::|##\[")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 [bold]markup[/bold]\r\n::error::pwned\n##[error]old "
    "\u202eright-to-left \x9b2J\x00\x7f\ud800 caf\u00e9 \u65e5\u672c\u8a9e"
)


def cause(**given: object) -> Finding:
    defaults: dict[str, object] = {
        "id": "FD121",
        "name": "driver-too-old-for-cuda",
        "cause": "driver-too-old-for-cuda",
        "outcome": "fail",
        "severity": "error",
        "title": "The driver is too old for this torch",
        "layer": "driver",
        "rank": 1,
        "evidence": (
            Evidence(
                line=212,
                value="RuntimeError: The NVIDIA driver on your system is too old (found version "
                "12020). Please update your GPU driver.",
                where="line 212",
            ),
            Evidence(fact="driver.cuda", value="12.2", where="stated in the text, line 212"),
            Evidence(fact="torch.version", value="2.9.1+cu130", where="pip list, line 31"),
            Evidence(fact="torch.min_driver", value="580.65.06", where="matrix torch"),
        ),
        "detail": "12020 is CUDA 12.2; torch 2.9.1+cu130 needs driver 580 or newer.",
        "fix": Advice(
            text="Either keep the driver and change torch, or update the driver.",
            commands=(
                "pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/cu128",
            ),
            safety="disruptive",
        ),
        "sources": ("https://docs.nvidia.com/deploy/cuda-compatibility/ (checked 2026-11-30)",),
        "certainty": "certain",
    }
    return Finding(**{**defaults, **given})  # type: ignore[arg-type]  # test data


def line(number: int, text: str) -> Evidence:
    return Evidence(line=number, value=text, where=f"line {number}")


def other(number: int, severity: Severity = "error", **given: object) -> Finding:
    return cause(
        id=f"LS22{number:02}",
        title=f"torch sees no GPU in this process, for reason {number}",
        severity=severity,
        evidence=(line(number, f"torch.cuda.is_available() is False, {number}"),),
        detail="",
        rank=number + 2,
        **given,
    )


HARMLESS = cause(
    id="LS9001",
    title="torch has no flash attention on this platform",
    layer="benign",
    severity="info",
    evidence=(line(87, "UserWarning: 1Torch was not compiled with flash attention. (Triggered)"),),
)
INFO = cause(id="FD690", title="A newer transformers exists", severity="info", layer="framework")
ASK = (
    Question(command="nvidia-smi | head -4", why="would confirm the driver"),
    Question(
        command="python -c 'import torch; print(torch.__version__, torch.version.cuda)'",
        why="would tell which CUDA this torch was built for",
    ),
)
FACTS = of(
    [
        known("gpu.name", "NVIDIA H100 80GB HBM3", "nvidia-smi"),
        known("gpu.compute_capability", "9.0", "matrix"),
        known("driver.version", "535.104.05", "nvidia-smi"),
        known("torch.version", "2.9.1+cu130", "pip list"),
    ]
)
CONFLICT = Conflict(
    kept=known("driver.version", "535.104.05", "nvidia-smi"),
    dropped=known("driver.version", "550.54.15", "stated in the text"),
)

LISTS = Conflict(
    kept=known("gpu.devices", [{"index": 0, "name": "Tesla T4"}], "nvidia-smi"),
    dropped=known("gpu.devices", [{"index": 0, "name": "NVIDIA L4"}], "nvidia-smi -L"),
)
ENGINE = of(
    [
        known("engine.name", "vllm", "vLLM's log"),
        known("engine.attention_backend", "FLASH_ATTN", "vLLM's log"),
        known("engine.fa_version", 3, "vLLM's log"),
        known("engine.kv_tokens", 1_829_056, "vLLM's log"),
        known("model.name", "meta-llama/Llama-3.1-8B", "vLLM's log"),
    ]
)


def report(**given: object) -> Report:
    defaults: dict[str, object] = {"verdict": "fail", "exit_code": 1, "snapshot": FACTS}
    return Report(**{**defaults, **given})  # type: ignore[arg-type]  # test data


SAMPLES: Mapping[str, Report] = {
    "fail": report(
        findings=(cause(), other(3, follows="FD121"), other(5, "warning"), HARMLESS, INFO)
    ),
    "open": report(
        findings=(cause(certainty="likely"), other(3, certainty="likely")),
        ask=ASK,
        snapshot=Snapshot(FACTS.facts, (CONFLICT,)),
    ),
    "many": report(findings=(cause(), *(other(number) for number in range(9)), *[HARMLESS] * 9)),
    "warn": report(verdict="warn", exit_code=0, findings=(other(4, "warning"),)),
    "pass": report(verdict="pass", exit_code=0, findings=(HARMLESS,)),
    "engine": report(
        verdict="pass",
        exit_code=0,
        findings=(
            cause(
                layer="benign",
                severity="info",
                evidence=(
                    line(
                        8, "WARNING 11-30 11:57:46 [vllm.py:1096] Enforce eager set, no CUDA graphs"
                    ),
                ),
            ),
            cause(layer="benign", cause="benign-healthy-environment", severity="info"),
        ),
        snapshot=Snapshot({**FACTS.facts, **ENGINE.facts}, (CONFLICT, CONFLICT, LISTS)),
    ),
    "nothing": report(verdict="undetermined", exit_code=3, snapshot=Snapshot(), ask=ASK),
    "undetermined": report(
        verdict="undetermined", exit_code=3, findings=(other(4, "warning"),), ask=ASK
    ),
    "hostile": report(
        findings=(
            cause(
                title=HOSTILE,
                detail="::error::" + HOSTILE,
                evidence=(
                    line(1, "::set-output name=a::" + HOSTILE),
                    line(123_456_789, "a" * 5000),
                    Evidence(fact="gpu.name", value=HOSTILE, where=HOSTILE),
                ),
                fix=Advice(text="::group::" + HOSTILE, commands=("::error::\nrm", HOSTILE)),
                sources=(HOSTILE,),
            ),
            other(2, follows="FD121"),
            cause(layer="benign", severity="info", evidence=(line(3, "::error::" + HOSTILE),)),
        ),
        ask=(Question(command="::error::" + HOSTILE, why=HOSTILE),),
        snapshot=of([known("gpu.name", "::error::" + HOSTILE, HOSTILE)]),
    ),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_golden(name: str, golden: Callable[[str, str], None]) -> None:
    texts = [
        f"=== {title}\n{diagnosis_text(SAMPLES[name], style)}" for title, style in VARIANTS.items()
    ]
    golden(f"diagnosis_{name}.txt", "\n".join(texts))


def is_free(text: str) -> bool:
    """Whether a line may be longer than the terminal: a command to copy, an address."""
    return text.startswith(("    ", "Ask for: ")) or "://" in text


@pytest.mark.parametrize("width", [10, 60, 80, 120, 400])
@pytest.mark.parametrize("name", SAMPLES)
def test_lines_fit(name: str, width: int) -> None:
    columns = max(60, min(width, 120))
    lines = diagnosis_text(SAMPLES[name], Style(width=width)).splitlines()
    assert [text for text in lines if len(text) > columns and not is_free(text)] == []


def test_the_answer_stands_first_then_the_line_that_proves_it() -> None:
    first, second, *_ = diagnosis_text(SAMPLES["fail"], Style(width=120)).splitlines()
    assert first.startswith("FAIL  The driver is too old for this torch ")
    assert first.endswith(" FD121, certain")
    assert second.startswith("    212 | RuntimeError: The NVIDIA driver on your system is too old")


@pytest.mark.parametrize("name", SAMPLES)
def test_the_first_word_is_the_verdict(name: str) -> None:
    text = diagnosis_text(SAMPLES[name], Style())
    assert text.startswith(f"{SAMPLES[name].verdict.upper()}  ")


def test_quiet_is_the_verdict_line_alone() -> None:
    assert diagnosis_text(SAMPLES["fail"], Style(quiet=True)).count("\n") == 1


def test_a_fault_is_one_screen() -> None:
    for name in ("fail", "open", "many"):
        assert diagnosis_text(SAMPLES[name], Style()).count("\n") <= 40


def test_where_a_fact_stands_is_said_and_its_source_when_asked() -> None:
    text = diagnosis_text(SAMPLES["fail"], Style(width=120))
    assert re.search(r"^    torch +2\.9\.1\+cu130 \(line 31\)$", text, re.MULTILINE)
    assert "pip list" not in text
    assert "(pip list, line 31)" in diagnosis_text(SAMPLES["fail"], Style(width=120, verbose=True))


def test_infos_beside_the_harmless_lines_wait_to_be_asked_for() -> None:
    assert "FD690" not in diagnosis_text(SAMPLES["fail"], Style())
    assert "FD690" in diagnosis_text(SAMPLES["fail"], Style(verbose=True))
    assert "line 87" in diagnosis_text(SAMPLES["fail"], Style())


def test_of_an_engine_its_backend_and_cache_are_told_and_of_lines_what_they_say() -> None:
    text = diagnosis_text(SAMPLES["engine"], Style(width=100))
    assert "The engine: meta-llama/Llama-3.1-8B, FLASH_ATTN (FA3), 1,829,056 KV tokens\n" in text
    assert text.count("is harmless here") == 1
    assert 'line 8 "Enforce eager set, no CUDA graphs" is harmless here.' in text
    assert text.count("sources differ") == 1


def test_colour_changes_nothing_but_colour() -> None:
    for sample in SAMPLES.values():
        plain, painted = (diagnosis_text(sample, Style(color=color)) for color in (False, True))
        assert "\x1b" not in plain
        assert COLOUR.sub("", painted) == plain


def test_without_unicode_our_own_words_are_ascii() -> None:
    assert diagnosis_text(SAMPLES["fail"], Style()).isascii()


@pytest.mark.parametrize("style", VARIANTS.values(), ids=list(VARIANTS))
def test_nothing_hostile_gets_through(style: Style) -> None:
    for text in diagnosis_text(SAMPLES["hostile"], style).split("\n"):
        bare = COLOUR.sub("", text) if style.color else text
        assert bare.isprintable()
        assert not WORKFLOW.search(bare), bare


texts = st.text(max_size=40) | st.sampled_from(["::error::x", "##[group]", "\x1b[31m", "a\n::b::"])


@st.composite
def findings(draw: st.DrawFn) -> Finding:
    evidence = Evidence(
        fact=draw(st.none() | st.sampled_from(["gpu.name", "torch.version"])),
        line=draw(st.none() | st.integers()),
        value=draw(texts | st.none() | st.integers()),
        where=draw(texts),
    )
    severities: list[Severity] = ["error", "warning", "info"]
    certainties: list[Certainty | None] = ["certain", "likely", "possible", None]
    return cause(
        id=draw(texts),
        title=draw(texts),
        severity=draw(st.sampled_from(severities)),
        certainty=draw(st.sampled_from(certainties)),
        layer=draw(st.sampled_from(["benign", "driver"])),
        evidence=(evidence,) * draw(st.integers(0, 3)),
        fix=Advice(text=draw(texts), commands=(draw(texts),)),
        detail=draw(texts),
        follows=draw(st.none() | texts),
    )


@given(
    st.lists(findings(), max_size=8),
    st.sampled_from(["pass", "warn", "fail", "undetermined"]),
    st.builds(Question, command=texts, why=texts),
    st.integers(0, 200),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_any_report_is_harmless_printable_lines(
    found: list[Finding], verdict: str, question: Question, width: int, verbose: bool
) -> None:
    sample = report(findings=tuple(found), verdict=verdict, ask=(question,))
    text = diagnosis_text(sample, Style(width=width, verbose=verbose))
    assert text.endswith("\n")
    for part in text.split("\n"):
        assert part.isprintable()
        assert not WORKFLOW.search(part)
    text.encode()
