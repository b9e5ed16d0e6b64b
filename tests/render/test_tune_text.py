from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashdoctor.model.finding import Advice, Finding
from flashdoctor.model.trial import Compared, Measured, Outcome, Trial
from flashdoctor.model.tuning import Attention, Choice, MemoryAccount, Proposal, TuneReport
from flashdoctor.render.style import Style
from flashdoctor.render.tune_text import render_tune

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
MEMORY = MemoryAccount(
    total_gib=139.8, budget_gib=128.62, weights_gib=14.99, activation_gib=0.84, non_torch_gib=0.26,
    graphs_gib=1.02, graphs_inside=False, kv_gib=112.5, kv_bytes_per_token=131072, kv_tokens=921744,
    max_model_len=131072, longest_model_len=131072, concurrency=7.03,
)  # fmt: skip
FLAGS = (
    Choice("--max-model-len", "131072", "the model's own limit", "config.json"),
    Choice("--max-num-seqs", "512", "the most that CUDA graphs cover; the KV cache holds 720"
           " requests of 1,280 tokens", "run: vLLM 0.25.1 on an H200"),
    Choice("--enable-expert-parallel", None, "held as given", "--pin"),
)  # fmt: skip


def report(**given_: Any) -> TuneReport:
    plain: dict[str, Any] = {
        "fits": True, "exit_code": 0, "model": "Llama-3.1-8B", "gpu": "NVIDIA H200", "gpus": 1,
        "version": "0.25.1", "engine": "V1", "goal": "throughput", "served": "/models/Llama 8B",
        "start": "vllm serve '/models/Llama 8B'",
        "flags": FLAGS, "environment": (), "memory": MEMORY,
        "kept": (Choice("--block-size", "16", "the backend takes what suits it", "cuda.py:499"),),
        "attention": Attention("FLASH_ATTN", 3, "vLLM's first choice on sm_90", "flash_attn.py"),
        "proposals": (Proposal("fp8 KV cache would hold 2.0 x the tokens", "--allow fp8-kv",
                               changes_output=True),),
    }  # fmt: skip
    return TuneReport(**{**plain, **given_})


def outcome(name: str, tps: float | None, **given_: Any) -> Outcome:
    plain: dict[str, Any] = {"status": "ran", "ttft_ms": 30.1, "tpot_ms": 4.97, "start_s": 84.2}
    trial = Trial(name, {}, "why")
    return Outcome(trial=trial, output_tps=tps, **{**plain, **given_})


def measured(**given_: Any) -> Measured:
    plain: dict[str, Any] = {
        "workload": {"requests": 1024, "prompt_tokens": 1024, "output_tokens": 256},
        "outcomes": (
            outcome("defaults", 5604.3),
            outcome("same-precision", 6151.3),
            outcome("chosen", 6611.8),
            outcome("step-16384", None, status="out-of-memory", cause="cuda-out-of-memory"),
        ),
        "best": "chosen", "gain": 1.1798, "same_precision": "same-precision",
        "same_precision_gain": 1.0976, "left_out": ("more-memory",), "logs": "trials-1",
        "compared": (
            Compared("weights", 14.99, 15.0, "the engine's log"),
            Compared("KV tokens", 922816.0, 919824.0, "the engine's log"),
            Compared("CUDA graphs", 1.02, 0.98, "the engine's log"),
            Compared("peak, GPU in use", 129.51, 129.804, "NVML every 100 ms, less what was in use"
                     " before"),
        ),
    }  # fmt: skip
    return Measured(**{**plain, **given_})


def finding(**given_: Any) -> Finding:
    plain: dict[str, Any] = {
        "id": "FD791", "name": "tune-does-not-fit", "cause": "tune-does-not-fit", "outcome": "fail",
        "severity": "error", "title": "The model does not fit", "layer": "framework",
        "detail": "Nothing is left for the KV cache.", "sources": ("vllm",),
        "fix": Advice(text="One of the proposals is enough."),
    }  # fmt: skip
    return Finding(**{**plain, **given_})


def _fits() -> TuneReport:
    return report()


def _refused() -> TuneReport:
    small = MEMORY._replace(budget_gib=16.78, kv_gib=-0.2, kv_tokens=0, longest_model_len=0)
    return report(
        fits=False, exit_code=1, memory=small, findings=(finding(),), notes=("guessed",),
        refusal="No available memory for the cache blocks. Try increasing `gpu_memory_utilization`"
                " when initializing the engine.",
        refusal_offline="To serve at least one request with the model's max seq len (131072), ...",
        proposals=(Proposal("2 such GPUs hold 131,072 tokens", "--pin tensor-parallel-size=2"),
                   Proposal("a checkpoint quantised to FP8", "", changes_output=True)),
    )  # fmt: skip


def _crowded() -> TuneReport:
    over = MEMORY._replace(total_gib=16.0, weights_gib=15.5, kv_gib=0.4, concurrency=1.0)
    variable = Choice("VLLM_WSL2_ENABLE_PIN_MEMORY", "1", "in WSL vLLM switches it off", "cuda.py")
    long = Choice("--compilation-config", '{"cudagraph_mode": "FULL_DECODE_ONLY", "mode": 3}',
                  "held as given", "--pin")  # fmt: skip
    shortened = finding(id="FD792", severity="info", title="The context is shortened")
    return report(
        gpus=8, memory=over, environment=(variable,), flags=(*FLAGS, long), findings=(shortened,),
        attention=Attention(None, None, "releases before 0.6.0 were not read", "attention.toml"),
        proposals=(),
    )  # fmt: skip


def _hostile() -> TuneReport:
    bad = "::error::x\x1b[31m\n##[group]\u202e" + "y" * 400
    return report(
        model=bad, gpu=bad, served=bad, start=bad, flags=(Choice("--x", bad, bad, bad),),
        proposals=(Proposal(bad, bad),), notes=(bad,), findings=(finding(title=bad, detail=bad),),
        environment=(Choice("A", bad, bad, bad),), refusal=bad, exit_code=1,
        attention=Attention(bad, 2, bad, bad),
    )  # fmt: skip


SAMPLES: dict[str, Callable[[], TuneReport]] = {
    "fits": _fits, "refused": _refused, "crowded": _crowded, "hostile": _hostile,
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_golden(name: str, golden: Callable[[str, str], None]) -> None:
    parts = [f"=== {title}\n{render_tune(SAMPLES[name](), style)}"
             for title, style in VARIANTS.items()]  # fmt: skip
    golden(f"tune_{name}.txt", "\n".join(parts))


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_reaches_the_terminal_alive(name: str) -> None:
    for style in VARIANTS.values():
        text = render_tune(SAMPLES[name](), style)
        assert "\u202e" not in text
        for line in text.splitlines():
            assert not WORKFLOW.search(ESCAPE.sub("", line))
        if not style.color:
            assert "\x1b" not in text


def test_colour_is_the_only_difference() -> None:
    for make in SAMPLES.values():
        plain = render_tune(make(), Style(width=80))
        assert ESCAPE.sub("", render_tune(make(), Style(width=80, color=True))) == plain


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=30), st.integers(10, 200), st.floats(-10, 300))
def test_any_words_and_sizes_can_be_shown(text: str, width: int, kv: float) -> None:
    shown = replace(
        report(), model=text, served=text, memory=MEMORY._replace(kv_gib=kv), notes=(text,)
    )
    lines = render_tune(shown, Style(width=width)).splitlines()
    assert lines[0].startswith("FITS")
    assert all(line == line.rstrip() for line in lines)


def test_what_was_measured_is_a_table_with_predicted_against_real() -> None:
    text = render_tune(report(measured=measured()), Style(width=100))
    assert re.search(r"chosen +6,612 +1\.18 x +30\.1 ms +5\.0 ms +84 s", text)
    assert re.search(r"step-16384 +out-of-memory", text)
    assert "Fastest: chosen, 1.18 x the engine's defaults." in text
    assert "Fastest at the defaults' precision: same-precision, 1.10 x." in text
    assert "Not tried, for want of time: more-memory." in text
    assert re.search(r"weights +14\.99 GiB +15\.00 GiB +-0\.1 %", text)
    assert re.search(r"KV tokens +922,816 +919,824 +\+0\.3 %", text)
    assert re.search(r"CUDA graphs +1\.02 GiB +0\.98 GiB +\+4\.1 %", text)
    assert re.search(r"peak, GPU in use +129\.51 GiB +129\.80 GiB +-0\.2 %", text)
    assert "(NVML every 100 ms, less what was in use before)" in " ".join(text.split())


def test_a_peak_that_nobody_told_is_named() -> None:
    held = measured(compared=(Compared("weights", 14.99, 15.0),), interrupted=True)
    text = render_tune(report(measured=held), Style(width=100))
    assert "No peak: NVML told nothing of the memory in use." in text
    assert "Interrupted: this is what was measured until then." in text
    assert "Not tried: more-memory." in text
