from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashdoctor.model.finding import Advice, Finding
from flashdoctor.model.smoke import (
    STATUSES,
    Case,
    Reason,
    Shape,
    SmokeCase,
    SmokeReport,
    Started,
)
from flashdoctor.render.kernel_names import short_name
from flashdoctor.render.smoke_default import default_text
from flashdoctor.render.smoke_list import classified_text, list_text, to_json
from flashdoctor.render.smoke_text import render_smoke
from flashdoctor.render.style import Style

LARGE = Shape(batch=4, q_len=4096, kv_len=4096, heads=16, kv_heads=16, head_dim=128)
KERNELS = {
    "fa2": "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false> >(Params)",
    "torch-flash": "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128> >(Params)",
    "cudnn": "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1",
    "fa3": "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::"
           "CollectiveMainloopFwdSm90<2> > > >(Params)",
    "fa4": "kernel_cutlass_kernel_flash_attncuteflash_fwd_sm90FlashAttentionForwardSm90_object_at_",
    "mem-efficient": "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::Kernel)",
    "math": "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3",
    "flex": "triton_tem_fused_flex_attention_0",
}  # fmt: skip
MS = {"cudnn": 0.53, "torch-flash": 0.9, "fa2": 0.81, "fa4": 0.6, "mem-efficient": 2.1,
      "math": 26.0, "flex": 1.2}  # fmt: skip
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


def case(name: str, label: str, family: str, **given: Any) -> Case:
    fields: dict[str, Any] = {"api": "sdpa", "backend": "default", "shape": LARGE,
                              "dtype": "bf16", "main": True}  # fmt: skip
    return Case(name=name, label=label, expected=(family,), **{**fields, **given})


def ran(name: str, label: str, family: str, **given: Any) -> SmokeCase:
    """Return a proven case with the gains of the table above."""
    ms = MS[family]
    default = None if name == "sdpa-default-d128" else MS["cudnn"] / ms
    return SmokeCase(
        case=case(name, label, family, **given),
        status="proven",
        family=family,
        kernel=KERNELS[family],
        kernels=(KERNELS[family],),
        ms=ms,
        gain_over_math=None if family == "math" else MS["math"] / ms,
        gain_over_default=default,
    )


def refused(name: str, label: str, cause: str, text: str, **given: Any) -> SmokeCase:
    fields = {"refusal": cause, **given}
    return SmokeCase(
        case=case(name, label, "torch-flash", **fields),
        status="other",
        family="mem-efficient",
        kernel=KERNELS["mem-efficient"],
        ms=1.0,
        reasons=(Reason(cause=cause, text=text, fix="Do otherwise."),),
        messages=("a warning", "another one"),
    )


CASES = (
    ran("sdpa-default-d128", "SDPA, default", "cudnn"),
    ran("sdpa-flash-d128", "SDPA, flash only", "torch-flash", backend="flash"),
    ran("sdpa-mem-efficient-d128", "SDPA, efficient only", "mem-efficient", backend="x"),
    ran("sdpa-math-d128", "SDPA, math only", "math", backend="math"),
    refused("sdpa-default-mask", "SDPA, with a mask", "sdpa-attn-mask-blocks-flash",
            "The flash kernel takes no explicit attention mask."),
    refused("sdpa-default-fp32", "SDPA, fp32", "dtype-unsupported-fp32",
            "The inputs are float32; the flash and cuDNN kernels take float16 and bfloat16."),
    ran("flash-attn-d128", "flash_attn_func", "fa2", api="flash-attn"),
    replace(ran("flash-attn-kvcache", "flash_attn_with_kvcache", "fa2", api="flash-attn"),
            ms=0.05, gain_over_math=None, gain_over_default=None),
    ran("flex-d128", "flex_attention", "flex", api="flex"),
    *(ran(f"sdpa-flash-extra-{n}", f"SDPA, extra {n}", "torch-flash", main=False)
      for n in range(10)),
)  # fmt: skip
REPORT = SmokeReport(
    verdict="pass",
    exit_code=0,
    cases=CASES,
    started=Started(torch="2.11.0+cu130", device="NVIDIA H200", capability="9.0", import_s=2.1,
                    cuda_s=0.5),
    seconds=6.1,
    versions={"flash-attn": "2.8.3", "torch": "2.11.0+cu130"},
)  # fmt: skip


def finding(**given: Any) -> Finding:
    fields: dict[str, Any] = {
        "id": "FD410", "name": "attention-output-wrong", "cause": "attention-output-wrong",
        "outcome": "fail", "severity": "error", "title": "An attention kernel gives wrong results",
        "layer": "kernel", "rank": 1,
        "detail": "sdpa-flash-d128 ran torch-flash and gave a wrong output: out is not finite.",
        "fix": Advice(text="Do not use this kernel.",
                      commands=("flashdoctor smoke --case sdpa-flash-d128 --verbose",)),
    }  # fmt: skip
    return Finding(**{**fields, **given})


def changed(name: str, **given: Any) -> tuple[SmokeCase, ...]:
    return tuple(replace(i, **given) if i.case.name == name else i for i in CASES)


def _pass() -> SmokeReport:
    return REPORT


def _fail() -> SmokeReport:
    wrong = changed("sdpa-flash-d128", status="wrong", messages=("out holds NaN",), ms=None)
    return replace(REPORT, verdict="fail", exit_code=1, cases=wrong, findings=(finding(),))


def _warn() -> SmokeReport:
    broken = changed("flex-d128", status="error", family=None, kernel=None, ms=None,
                     messages=("InductorError: no C compiler was found",))  # fmt: skip
    mild = finding(id="FD420", severity="warning", title="An attention call failed")
    return replace(REPORT, verdict="warn", cases=broken, findings=(mild,))


def _cpu() -> SmokeReport:
    cases = tuple(SmokeCase(case=item.case, status="cpu") for item in CASES)
    started = Started(torch="2.13.0+cpu", device="cpu", import_s=1.0, cuda_s=0.0)
    return replace(REPORT, verdict="undetermined", exit_code=3, cases=cases, started=started,
                   note="torch sees no GPU in this environment")  # fmt: skip


def _inferred() -> SmokeReport:
    cases = tuple(
        SmokeCase(case=item.case, status="inferred", ms=item.ms, profiler="CUPTI_ERROR",
                  inference="only torch-flash was allowed to run")
        for item in CASES[:3]
    )  # fmt: skip
    why = "no kernel could be named: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
    return replace(REPORT, verdict="undetermined", exit_code=3, cases=cases, note=why)


def _answers() -> SmokeReport:
    return replace(REPORT, cases=CASES[4:6])


HOSTILE = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 [bold]markup[/bold]\r\n::error::pwned"
    "\n##[error]old \u202eright-to-left \x9b2J\x00\x7f\ud800 caf\u00e9 \u65e5\u672c\u8a9e"
)


def _hostile() -> SmokeReport:
    bad = SmokeCase(
        case=case("x", HOSTILE, "fa2", api="flash-attn"), status="error", family=HOSTILE,
        kernel=HOSTILE, kernels=(HOSTILE,), messages=("::error::" + HOSTILE, HOSTILE),
    )  # fmt: skip
    shown = replace(bad, status="other", ms=1.0, case=case("y", "::error::y", "fa2"))
    started = Started(torch=HOSTILE, device=HOSTILE, import_s=1.0)
    return replace(REPORT, verdict="fail", cases=(bad, shown), started=started, note=HOSTILE,
                   where=HOSTILE, versions={"flash-attn": HOSTILE},
                   findings=(finding(title=HOSTILE, detail=HOSTILE),))  # fmt: skip


def _nothing() -> SmokeReport:
    return SmokeReport(verdict="undetermined", exit_code=3, cases=())


SAMPLES: dict[str, Callable[[], SmokeReport]] = {
    "pass": _pass, "fail": _fail, "warn": _warn, "cpu": _cpu, "inferred": _inferred,
    "answers": _answers, "hostile": _hostile, "nothing": _nothing,
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_golden(name: str, golden: Callable[[str, str], None]) -> None:
    parts = [f"=== {title}\n{render_smoke(SAMPLES[name](), style)}"
             for title, style in VARIANTS.items()]  # fmt: skip
    golden(f"smoke_{name}.txt", "\n".join(parts))


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("width", [10, 60, 72, 80, 99, 100, 120, 400])
def test_lines_fit(name: str, width: int) -> None:
    columns = max(60, min(width, 120))
    text = render_smoke(SAMPLES[name](), Style(width=width)).replace(": :", "::")  # made harmless
    lines = [line for line in text.splitlines() if "--case" not in line]
    assert [line for line in lines if len(line) > columns] == []


def test_the_first_line_is_the_answer() -> None:
    first = {name: render_smoke(make(), Style(quiet=True)) for name, make in SAMPLES.items()}
    assert all(text.count("\n") == 1 for name, text in first.items() if name != "hostile")
    assert first["pass"] == "PROVEN  flash-attn 2.8.3 runs its own kernel on NVIDIA H200\n"
    assert first["fail"] == "FAIL  An attention kernel gives wrong results, on NVIDIA H200\n"
    assert first["cpu"] == "UNPROVEN  torch sees no GPU in this environment\n"
    assert first["answers"].startswith("PASS  each case was answered")
    assert first["warn"].endswith("with 1 warning\n")


def test_nothing_is_called_proven_without_a_proof() -> None:
    for name in ("cpu", "inferred", "answers", "nothing", "fail"):
        assert "PROVEN  " not in render_smoke(SAMPLES[name](), Style()).replace("UNPROVEN", "")


def test_a_row_names_the_kernel_its_time_and_its_gain() -> None:
    lines = render_smoke(REPORT, Style(width=120)).splitlines()
    row = next(line for line in lines if "flash_attn_func" in line)
    for word in ("v ", "fa2", "flash::flash_fwd_kernel", "0.81", "32 x", "0.65 x"):
        assert word in row
    narrow = render_smoke(REPORT, Style(width=60))
    assert "\n    flash::flash_fwd_kernel\n" in narrow


def test_a_refusal_that_is_due_is_no_alarm() -> None:
    painted = render_smoke(REPORT, Style(color=True))
    line = next(line for line in painted.splitlines() if "with a mask" in line)
    assert line.startswith("x SDPA, with a mask")
    assert "\x1b" not in line
    assert "takes no explicit" in painted


def test_colour_changes_nothing_but_colour() -> None:
    for make in SAMPLES.values():
        plain, painted = (render_smoke(make(), Style(color=color)) for color in (False, True))
        assert set(ESCAPE.findall(painted)) <= {"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"}
        assert ESCAPE.sub("", painted) == plain


def test_both_times_are_printed() -> None:
    assert "19 cases in 3.5 s, over 2.6 s of torch's own start." in render_smoke(REPORT, Style())


def test_nothing_hostile_gets_through() -> None:
    for style in VARIANTS.values():
        for line in render_smoke(_hostile(), style).split("\n"):
            bare = ESCAPE.sub("", line) if style.color else line
            assert bare.isprintable()
            assert not WORKFLOW.search(bare), bare


def test_a_long_table_is_cut_and_verbose_shows_all() -> None:
    assert "and 10 more, in order (--verbose)" in render_smoke(REPORT, Style())
    assert "SDPA, extra 9" not in render_smoke(REPORT, Style())
    text = render_smoke(REPORT, Style(verbose=True))
    assert "SDPA, extra 9" in text
    assert "sdpa-default-mask  a warning\n    another one\n" in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "Your SDPA default is cuDNN's kernel, 1.5 x faster than flash-attn here. Nothing to"),
        ({"flash-attn-d128": {"gain_over_default": 1.6, "ms": 0.3}},
         "Your SDPA default is cuDNN's kernel; flash-attn is 1.6 x faster here."),
        ({"flash-attn-d128": {"gain_over_default": 0.97}}, "as fast as flash-attn here. Nothing"),
        ({"sdpa-default-d128": {"family": "math", "status": "other"}},
         "Your SDPA default is math, which writes out all scores. A fused kernel is 32 x faster"),
        ({"sdpa-default-d128": {"ms": None}}, ""),
    ],
)  # fmt: skip
def test_the_last_line_says_what_the_default_is_worth(
    changes: dict[str, dict[str, Any]], words: str
) -> None:
    cases = tuple(replace(i, **changes.get(i.case.name, {})) for i in CASES)
    text = default_text(replace(REPORT, cases=cases))
    assert words in text if words else text == ""


def test_the_default_is_not_compared_with_itself() -> None:
    alone = ran("sdpa-cudnn-d128", "SDPA, cuDNN only", "cudnn", backend="cudnn")
    text = default_text(replace(REPORT, cases=(CASES[0], replace(alone, gain_over_default=0.99))))
    assert text == "Your SDPA default is cuDNN's kernel. Nothing to fix."


@pytest.mark.parametrize("name", ["fail", "warn"])
def test_nothing_to_fix_is_only_said_where_nothing_was_found(name: str) -> None:
    assert "Your SDPA default" in default_text(SAMPLES[name]())
    assert "Nothing to fix" not in default_text(SAMPLES[name]())
    assert "Nothing to fix" not in default_text(replace(REPORT, verdict="undetermined"))


@pytest.mark.parametrize(
    ("family", "short"),
    [
        ("fa2", "flash::flash_fwd_kernel"),
        ("torch-flash", "pytorch_flash::flash_fwd_kernel"),
        ("cudnn", "cudnn...sdpa_sm90_flash_fprop"),
        ("fa3", "flash::FlashAttnFwdSm90"),
        ("fa4", "kernel_cutlass...FlashAttentionForwardSm90"),
        ("mem-efficient", "fmha_cutlassF_bf16_aligned_64x128_rf_sm80"),
    ],
)
def test_a_kernel_has_a_short_name(family: str, short: str) -> None:
    assert short_name(KERNELS[family]) == short


@given(st.text(max_size=300), st.integers(0, 80))
def test_any_name_is_cut_to_its_width(name: str, width: int) -> None:
    assert len(short_name(name, width)) <= width


def test_the_list_says_what_would_run() -> None:
    cases = [
        case("sdpa-flash-d128", "x", "torch-flash"),
        case("sdpa-flash-mask", "x", "torch-flash", refusal="sdpa-attn-mask-blocks-flash"),
        case("flash-attn-d128", "x", "fa2", lacks="flash-attn is not installed"),
        case("vllm", "x", "fa3", on_request=True),
    ]
    assert list_text(cases, Style()).splitlines() == [
        "v sdpa-flash-d128  torch-flash",
        "v sdpa-flash-mask  refused: sdpa-attn-mask-blocks-flash",
        "- flash-attn-d128  fa2; flash-attn is not installed",
        "- vllm             fa3; only by its name",
    ]
    rows = to_json(cases)["cases"]
    assert [row["available"] for row in rows] == [True, True, False, True]
    assert [row["expected_family"] for row in rows] == ["torch-flash", "torch-flash", "fa2", "fa3"]


def test_classified_names_stay_on_their_lines() -> None:
    rows = [{"kernel": "void flash::x<1>", "family": "fa2"}, {"kernel": HOSTILE, "family": "other"}]
    lines = classified_text(rows, Style(width=60)).splitlines()
    assert lines[0] == "fa2    void flash::x<1>"
    assert len(lines) == 2
    assert all(line.isprintable() and len(line) <= 60 for line in lines)


texts = st.text(max_size=40) | st.sampled_from(["::error::x", "##[group]", "\x1b[31m", "x" * 300])
numbers = st.none() | st.floats(0, 1e9)


@st.composite
def smoke_cases(draw: st.DrawFn) -> SmokeCase:
    reason = Reason(cause="x", text=draw(texts), fix=draw(texts))
    return SmokeCase(
        case=case(draw(texts), draw(texts), draw(st.sampled_from(sorted(KERNELS)))),
        status=draw(st.sampled_from(STATUSES)),
        family=draw(st.none() | texts),
        kernel=draw(st.none() | texts),
        ms=draw(numbers),
        gain_over_math=draw(numbers),
        gain_over_default=draw(st.none() | st.floats(1e-6, 1e6)),
        reasons=draw(st.lists(st.just(reason), max_size=1).map(tuple)),
        messages=tuple(draw(st.lists(texts, max_size=2))),
        inference=draw(texts),
    )


@given(
    st.lists(smoke_cases(), max_size=5),
    st.sampled_from(["pass", "warn", "fail", "undetermined"]),
    texts,
    st.integers(0, 200),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_any_report_is_harmless_printable_lines(
    cases: list[SmokeCase], verdict: Any, words: str, width: int, verbose: bool
) -> None:
    report = SmokeReport(
        verdict=verdict, exit_code=1, cases=tuple(cases), note=words, where=words,
        started=Started(device=words, import_s=1.0), findings=(finding(title=words),),
    )  # fmt: skip
    for line in render_smoke(report, Style(width=width, verbose=verbose)).split("\n"):
        assert line.isprintable()
        assert not WORKFLOW.search(line)
