from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data.tables import load_tables
from flashdoctor.model.smoke import FUSED, STATUSES, Case, Shape, SmokeCase
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.smoke.facts import fault_text, smoke_facts
from flashdoctor.smoke.plan import named, plan_cases, whole
from flashdoctor.smoke.report import judge_case, judge_cases, read_started
from flashdoctor.smoke.run import SmokeRun
from flashdoctor.smoke.skipped import not_run
from tests.smoke_reports import finish

TABLES = load_tables()
START = {"torch": "2.11.0+cu130", "device": "NVIDIA H200", "capability": "9.0", "import_s": 2.0,
         "cuda_s": 0.5}  # fmt: skip
FP32 = "Expected query, key and value to all be of dtype: {Half, BFloat16}. Got Query dtype: float"
D288 = (
    "Flash attention requires q,k,v to have the same last dimension and to be less than or equal to"
    " 256. Got Query.size(-1): 288"
)
NO_MASK = "Flash Attention does not support non-null attn_mask."


@pytest.fixture
def names(kernels: Mapping[str, str]) -> Callable[..., list[str]]:
    """Return a function that gives the kernels of a call that a family takes."""

    def give(family: str) -> list[str]:
        math = ["math gemm", "math softmax"]
        return [kernels[key] for key in (["helper", *math] if family == "math" else [family])]

    return give


def judge(case: Case, **event: Any) -> SmokeCase:
    return judge_case(case, {"name": case.name, "status": "ran", "profiler": "ok", **event}, TABLES)


def test_a_kernel_name_is_the_proof(make_case: Any, names: Any) -> None:
    done = judge(make_case(), kernels=names("torch-flash"), ms=0.9, max_abs_error=0.01)
    assert (done.status, done.proven, done.family) == ("proven", True, "torch-flash")
    assert done.kernel == names("torch-flash")[0]
    assert (done.ms, done.max_abs_error, done.as_expected) == (0.9, 0.01, True)


def test_another_kernel_is_no_proof(make_case: Any, names: Any) -> None:
    for family in ("cudnn", "math", "fa2", "mem-efficient"):
        done = judge(make_case(), kernels=names(family))
        assert (done.status, done.proven, done.family) == ("other", False, family)
    assert judge(make_case(), kernels=["something_new"]).status == "other"


def test_flash_in_a_name_of_cudnn_is_not_flash_attn(make_case: Any, names: Any) -> None:
    case = make_case(api="flash-attn", expected=("fa2",))
    assert not judge(case, kernels=names("cudnn")).proven
    assert not judge(case, kernels=names("torch-flash")).proven
    assert judge(case, kernels=names("fa2")).proven


def test_the_kernel_that_names_the_family_is_not_its_helper(
    make_case: Any, kernels: Mapping[str, str]
) -> None:
    done = judge(make_case(), kernels=[kernels["helper"], kernels["torch-flash"]])
    assert done.kernel == kernels["torch-flash"]
    assert done.kernels == (kernels["helper"], kernels["torch-flash"])


@pytest.mark.parametrize(
    ("inferred", "words"),
    [
        ({}, "only torch-flash was allowed to run"),
        ({"inferred": {"memory": "N"}}, "memory grew with the length"),
        ({"inferred": {"memory": "N squared"}}, "as that of math does"),
    ],
)
def test_without_a_profiler_nothing_is_proven(
    make_case: Any, inferred: dict[str, Any], words: str
) -> None:
    done = judge(
        make_case(), profiler="CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", kernels=[], **inferred
    )
    assert (done.status, done.proven, done.family) == ("inferred", False, None)
    assert words in done.inference
    assert "INSUFFICIENT_PRIVILEGES" in done.profiler
    default = judge(make_case(backend="default"), kernels=[])
    assert default.inference == ""


@pytest.mark.parametrize("raw", ["refused", "wrong", "error", "missing", "cpu", "died", "timeout"])
def test_what_the_agent_says_stays(make_case: Any, raw: str) -> None:
    assert judge(make_case(), status=raw).status == raw


def test_an_error_that_loses_the_gpu_is_a_death(make_case: Any, names: Any) -> None:
    assert judge(make_case(), status="error", fatal=True).status == "died"
    proven = judge(make_case(), fatal=True, kernels=names("torch-flash"))
    assert proven.status == "proven", "torch cannot take back what was activated, and all is well"


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (NO_MASK, "sdpa-attn-mask-blocks-flash"),
        (FP32, "dtype-unsupported-fp32"),
        (D288, "head-dim-unsupported"),
        ("RuntimeError: FlashAttention only support fp16 and bf16 data type",
         "dtype-unsupported-fp32"),
        ("RuntimeError: FlashAttention forward only supports head dimension at most 256",
         "head-dim-unsupported"),
    ],
)  # fmt: skip
def test_a_refusal_has_its_cause(make_case: Any, message: str, cause: str) -> None:
    blocks = ["RuntimeError: No available kernel. Aborting execution.",
              "Flash attention kernel not used because:", message]  # fmt: skip
    done = judge(make_case(refusal=cause), status="refused", messages=blocks)
    assert done.reasons[0].cause == cause
    assert done.reasons[0].fix
    assert (done.as_expected, done.proven) == (True, False)


def test_what_is_asked_for_explains_itself_first(make_case: Any, names: Any) -> None:
    told = ["cuDNN attention kernel not used because:", NO_MASK,
            "Flash attention kernel not used because:", NO_MASK]  # fmt: skip
    done = judge(make_case(backend="default"), kernels=names("cudnn"), messages=told)
    assert {reason.backend for reason in done.reasons} == {"torch-flash"}


def test_a_proof_needs_no_reasons(make_case: Any, names: Any) -> None:
    assert judge(make_case(), kernels=names("torch-flash"), messages=[NO_MASK]).reasons == ()


def test_private_things_are_cut_from_messages(make_case: Any) -> None:
    told = ["ImportError: /home/jane/venv/lib/x.so: undefined symbol", "token=hf_abcdefghijk123"]
    done = judge(make_case(), status="error", messages=told)
    assert "jane" not in str(done.to_json())
    assert "hf_abcdefghijk123" not in str(done.to_json())


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
KEYS = ("status", "kernels", "profiler", "relative_error", "max_abs_error", "ms", "peak_mib",
        "messages", "asked", "got", "fatal", "inferred")  # fmt: skip


@given(st.dictionaries(st.sampled_from(KEYS), junk))
def test_any_event_becomes_a_case(event: dict[str, Any]) -> None:
    shape = Shape(batch=1, q_len=1, kv_len=1, heads=1, kv_heads=1, head_dim=8)
    case = Case(name="x", api="sdpa", backend="flash", label="x", shape=shape, dtype="bf16",
                expected=("torch-flash",))  # fmt: skip
    done = judge_case(case, event, TABLES)
    assert done.status in STATUSES
    json.dumps(done.to_json(), allow_nan=False)
    fault_text(done).encode("utf-8")


def played(cases: Any, names: Any, **changed: Any) -> SmokeRun:
    """Return a run in which every case hits its family in 1 ms, but for what is changed."""
    results = []
    for case in cases:
        event = {"name": case.name, "status": "ran", "profiler": "ok", "ms": 1.0}
        if case.refusal:
            event.update(status="refused", messages=[case.refusal])
        else:
            event["kernels"] = names(case.expected_family)
        results.append({**event, **changed.get(case.name.replace("-", "_"), {})})
    return SmokeRun(results=tuple(results), start=START, seconds=6.0, children=1)


def test_gains_are_over_the_same_call(stack: Any, names: Any) -> None:
    planned, _ = named(plan_cases(stack("gpu=NVIDIA H200", "flash_attn=2.8.3")),
                       ["sdpa", "flash-attn"])  # fmt: skip
    run = played(planned, names, sdpa_math_d128={"ms": 26.0}, sdpa_default_d128={"ms": 0.5},
                 flash_attn_d128={"ms": 0.8})  # fmt: skip
    done = {item.case.name: item for item in judge_cases(planned, run, TABLES)}
    assert done["flash-attn-d128"].gain_over_math == pytest.approx(32.5)
    assert done["flash-attn-d128"].gain_over_default == pytest.approx(0.625)
    assert done["sdpa-default-d128"].gain_over_math == pytest.approx(52)
    assert done["sdpa-default-d128"].gain_over_default is None
    assert done["flash-attn-d64"].gain_over_math is None, "math ran at another shape"
    assert done["flash-attn-backward"].gain_over_math is None
    assert done["sdpa-flash-mask"].gain_over_default is None, "it did not run"


SOUND = ("gpu=NVIDIA H200", "driver=580.95.05", "torch=2.11.0+cu130", "torch.cudnn=9.19.0.56",
         "flash_attn=2.8.3", "python=3.11.9", "platform=linux_x86_64", "glibc=2.35",
         "flash_attn_3.version=absent", "flash_attn_4.version=absent", "vllm=absent",
         "transformers=absent", "xformers.version=absent", "flashinfer.version=absent")  # fmt: skip


@pytest.fixture
def sound(stack: Any) -> tuple[Snapshot, tuple[Case, ...]]:
    facts: Snapshot = stack(*SOUND)
    return facts, whole(plan_cases(facts), compiled=True)


def test_a_sound_stack_is_proven(sound: Any, names: Any) -> None:
    facts, cases = sound
    report = finish(facts, cases, played(cases, names), ["flash-attn", "sdpa"])
    assert (report.verdict, report.exit_code, report.findings) == ("pass", 0, ())
    assert {"fa2", "torch-flash", "cudnn", "mem-efficient", "math", "flex"} <= set(report.proven)
    assert report.versions["flash-attn"] == "2.8.3"
    assert report.started.seconds == 2.5


def test_an_interrupted_run_is_no_pass_and_keeps_what_had_ended(sound: Any, names: Any) -> None:
    facts, cases = sound
    words = "interrupted at vllm; 3 of 4 cases had ended"
    run = replace(played(cases[:3], names), interrupted=words)
    report = finish(facts, cases[:3], run, ["sdpa"], left_out=cases[3:])
    assert (report.verdict, report.exit_code) == ("undetermined", 3)
    assert report.note == words
    assert report.proven
    assert report.left_out == tuple(cases[3:])


HUB = {
    "asked": {"attn_implementation": "flash_attention_2"},
    "got": {"attn_implementation": "kernels-community/flash-attn2", "as_asked": False},
}


@pytest.fixture
def asked_for_fa2(stack: Any) -> tuple[Snapshot, tuple[Case, ...]]:
    facts = stack(*(item for item in SOUND if "transformers" not in item), "transformers=5.17.0")
    return facts, named(plan_cases(facts), ["transformers-fa2"])[0]


def test_a_replacement_is_found_and_proves_no_package(asked_for_fa2: Any, names: Any) -> None:
    facts, chosen = asked_for_fa2
    run = played(chosen, names, transformers_fa2=HUB)
    report = finish(facts, chosen, run, ["flash-attn"])
    assert (report.verdict, report.exit_code) == ("fail", 1)
    assert [item.id for item in report.findings] == ["FD413", "FD419"]
    assert "took kernels-community/flash-attn2" in report.findings[1].detail
    assert finish(facts, chosen, run).verdict == "warn"
    asked = {**HUB, "got": {"attn_implementation": "flash_attention_2", "as_asked": True}}
    same = played(chosen, names, transformers_fa2=asked)
    assert finish(facts, chosen, same, ["flash-attn"]).verdict == "pass"


def test_without_kernel_names_a_replacement_is_found_by_what_the_config_says(
    asked_for_fa2: Any, names: Any
) -> None:
    facts, chosen = asked_for_fa2
    got = {"attn_implementation": "sdpa", "as_asked": False}
    blind = {"kernels": [], "profiler": "CUPTI is not usable", "got": got}
    report = finish(facts, chosen, played(chosen, names, transformers_fa2=blind))
    assert report.exit_code == 3
    assert [item.id for item in report.findings] == ["FD419"]
    assert report.cases[0].inference == "transformers says that it took sdpa"


def test_nothing_is_said_to_be_restricted_where_a_library_chooses(stack: Any) -> None:
    for case in plan_cases(stack("gpu=NVIDIA H200", "torch=2.11.0+cu130")):
        done = judge(case, kernels=[], profiler="CUPTI is not usable")
        restricted = len(case.expected) == 1 and case.api != "transformers"
        restricted = restricted and case.backend not in ("", "default")
        assert ("was allowed to run" in done.inference) == restricted, case.name


def test_an_interrupted_run_that_saw_a_wrong_output_fails(sound: Any, names: Any) -> None:
    facts, cases = sound
    wrong = {"status": "wrong", "messages": ["out holds values that are not finite"]}
    played_run = played(cases[:3], names, **{cases[2].name.replace("-", "_"): wrong})
    report = finish(facts, cases[:3], replace(played_run, interrupted="interrupted"), ["sdpa"])
    assert (report.verdict, report.exit_code) == ("fail", 1)


def test_refusals_that_are_due_are_answers(sound: Any, names: Any) -> None:
    facts, cases = sound
    chosen, _ = named(cases, ["sdpa-flash-mask", "flash-attn-fp32"])
    report = finish(facts, chosen, played(chosen, names))
    assert (report.verdict, report.exit_code, report.proven) == ("pass", 0, ())


def test_a_wrong_output_is_always_an_error(sound: Any, names: Any) -> None:
    facts, cases = sound
    wrong = {"status": "wrong", "messages": ["out holds values that are not finite"]}
    run = played(cases, names, sdpa_cudnn_backward=wrong, flash_attn_gqa=wrong)
    report = finish(facts, cases, run)
    assert (report.verdict, report.exit_code) == ("fail", 1)
    root = report.findings[0]
    assert (root.id, root.severity, root.cause) == ("FD410", "error", "sdpa-cudnn-backend-fault")
    assert "1 more" in root.detail


@pytest.mark.parametrize("status", ["died", "timeout"])
def test_a_death_is_an_error(sound: Any, names: Any, status: str) -> None:
    facts, cases = sound
    died = {"status": status, "kernels": [], "messages": ["the process was ended by SIGSEGV"]}
    report = finish(facts, cases, played(cases, names, flex_d128=died))
    assert (report.exit_code, report.findings[0].id) == (1, "FD411")
    assert "flex-d128" in report.findings[0].detail


def test_a_mask_is_no_flash_attn(sound: Any, names: Any) -> None:
    facts, cases = sound
    chosen, _ = named(cases, ["sdpa-flash-mask"])
    told = ["Flash attention kernel not used because:", NO_MASK]
    run = played(chosen, names, sdpa_flash_mask={"status": "refused", "messages": told})
    report = finish(facts, chosen, run, ["flash-attn"])
    assert (report.verdict, report.exit_code) == ("fail", 1)
    assert report.findings[0].id == "FD413"
    assert report.findings[0].cause == "sdpa-attn-mask-blocks-flash"


def test_a_hidden_package_fails_the_gate(stack: Any, names: Any) -> None:
    facts = stack(*SOUND, "transformers=5.17.0", "flash_attn=absent")
    chosen, _ = named(plan_cases(facts), ["transformers-fa2"])
    told = (
        "ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the "
        "following error: the package flash_attn seems to be not installed."
    )
    run = played(chosen, names, transformers_fa2={"status": "refused", "kernels": [],
                                                  "messages": [told]})  # fmt: skip
    report = finish(facts, chosen, run, ["flash-attn"])
    assert report.exit_code == 1
    assert [item.id for item in report.findings][:2] == ["FD306", "FD413"]
    assert {item.cause for item in report.findings} == {"flash-attn-missing"}
    assert report.findings[1].follows == "FD306"


def test_a_replacement_in_silence_is_a_finding(stack: Any, names: Any) -> None:
    facts = stack(*SOUND, "transformers=5.17.0")
    chosen, _ = named(plan_cases(facts), ["transformers-fa2", "transformers-sdpa"])
    run = played(chosen, names, transformers_fa2={"kernels": names("cudnn")})
    assert finish(facts, chosen, run).verdict == "warn"
    report = finish(facts, chosen, run, ["transformers"])
    assert report.exit_code == 1
    assert report.findings[0].cause == "attn-implementation-ignored"
    assert "ran cudnn instead of fa2" in report.findings[0].detail


def test_a_default_on_math_is_a_warning(sound: Any, names: Any) -> None:
    facts, cases = sound
    run = played(cases, names, sdpa_default_gqa={"kernels": names("math")})
    report = finish(facts, cases, run)
    assert (report.verdict, report.exit_code) == ("warn", 0)
    assert report.findings[0].id == "FD412"


def test_an_optional_thing_that_fails_is_a_warning(sound: Any, names: Any) -> None:
    facts, cases = sound
    broken = {"status": "error", "kernels": [], "messages": ["InductorError: no C compiler"]}
    report = finish(facts, cases, played(cases, names, flex_d128=broken))
    assert (report.verdict, report.exit_code) == ("warn", 0)
    assert report.findings[0].id == "FD420"


def test_a_package_that_is_installed_and_broken_is_an_error(sound: Any, names: Any) -> None:
    facts, cases = sound
    chosen, _ = named(cases, ["flash-attn-d128", "sdpa-default-d128"])
    broken = {"status": "error", "kernels": [], "messages": ["ImportError: undefined symbol: _Z"]}
    report = finish(facts, chosen, played(chosen, names, flash_attn_d128=broken))
    assert (report.exit_code, report.findings[0].id) == (1, "FD413")


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (SmokeRun(results=(), start={"torch": "2.13.0+cpu", "device": "cpu"}), "sees no GPU"),
        (SmokeRun(results=(), start={"torch": "2.11.0", "error": "RuntimeError: driver too old"}),
         "driver too old"),
        (SmokeRun(results=(), error="python was ended by SIGSEGV"), "SIGSEGV"),
    ],
)  # fmt: skip
def test_where_nothing_runs_nothing_is_known(sound: Any, run: SmokeRun, words: str) -> None:
    facts, cases = sound
    status = "cpu" if run.start.get("device") == "cpu" else "not-run"
    results = tuple({"name": case.name, "status": status} for case in cases)
    whole_run = SmokeRun(results=results, start=run.start, error=run.error)
    for required in ((), ("flash-attn",)):
        report = finish(facts, cases, whole_run, required)
        assert (report.verdict, report.exit_code) == ("undetermined", 3)
        assert words in report.note


def test_a_profiler_that_names_nothing_proves_nothing(sound: Any, names: Any) -> None:
    facts, cases = sound
    why = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
    blind = {case.name.replace("-", "_"): {"kernels": [], "profiler": why} for case in cases}
    report = finish(facts, cases, played(cases, names, **blind), ["flash-attn"])
    assert (report.verdict, report.exit_code, report.proven) == ("undetermined", 3, ())
    assert why in report.note


def test_nothing_proven_is_no_pass(stack: Any, names: Any) -> None:
    facts = stack(*SOUND)
    chosen, _ = named(plan_cases(facts), ["fa3-d128"])
    missing = {"status": "missing", "kernels": [], "messages": ["No module named 'flash_attn_3'"]}
    report = finish(facts, chosen, played(chosen, names, fa3_d128=missing))
    assert (report.verdict, report.exit_code) == ("undetermined", 3)
    assert "fa3-d128 ended as missing" in report.note


def test_an_old_gpu_needs_no_flash_attn(stack: Any, names: Any) -> None:
    facts = stack("gpu=T4", "driver=550.54.14", "torch=2.5.1+cu124", "flash_attn=2.7.4.post1")
    cases, _ = named(whole(plan_cases(facts)), ["sdpa-default-d128", "flash-attn-d128"])
    run = played(cases, names)
    assert finish(facts, cases, run).verdict == "pass"
    report = finish(facts, cases, run, ["flash-attn"])
    assert report.exit_code == 1
    assert report.findings[0].cause == "flash-attn-needs-ampere"


def test_the_facts_hold_what_rules_and_readers_need(sound: Any, names: Any) -> None:
    _, cases = sound
    run = played(cases, names, flex_d128={"status": "died", "kernels": [], "messages": ["SIGSEGV"]})
    facts = {fact.path: fact for fact in smoke_facts(judge_cases(cases, run, TABLES), run)}
    assert facts["smoke.status"].value == "ok"
    assert facts["smoke.error"].state == "absent"
    assert set(facts["smoke.proven"].value) <= {*FUSED, "math"}
    assert facts["smoke.faults"].value == ["flex-d128: died, SIGSEGV"]
    record = next(r for r in facts["smoke.cases"].value if r["name"] == "flash-attn-d128")
    assert record["family"] == record["expected_family"] == "fa2"
    assert (record["proven"], record["status"]) == (True, "proven")
    assert record["components"] == ["flash-attn"]
    assert all(fact.value for fact in not_run("x") if fact.path == "smoke.status")
    assert {fact.path for fact in not_run("x")} == set(facts)


def test_the_start_is_read_with_care() -> None:
    odd = {"torch": 7, "device": ["x"], "capability": "9.0" * 99, "import_s": "2", "cuda_s": 1e300}
    started = read_started(SmokeRun(results=(), start=odd))
    assert (started.torch, started.device, started.import_s, started.seconds) == (
        "",
        "",
        None,
        None,
    )
