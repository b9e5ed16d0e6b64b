from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.rule import COMPONENTS
from flashdoctor.model.smoke import FUSED, Case
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.smoke.plan import left_out, named, plan_cases, quick, whole

Stacks = Callable[..., Snapshot]
H200 = (
    "gpu=NVIDIA H200", "torch=2.11.0+cu130", "torch.cudnn=9.19.0.56", "flash_attn=2.8.3",
    "flash_attn_3.version=3.0.0", "flash_attn_4.version=4.0.0", "vllm=0.25.1",
    "transformers=5.17.0", "xformers.version=absent", "flashinfer.version=absent",
    "kernels.version=absent",
)  # fmt: skip
FAMILIES = {*FUSED, "math", "cpu", "other"}


def by_name(cases: Iterable[Case]) -> dict[str, Case]:
    listed = list(cases)
    found = {case.name: case for case in listed}
    assert len(found) == len(listed), "each name stands once"
    return found


def test_the_cases_cover_what_the_tool_claims_to_prove(stack: Stacks) -> None:
    cases = by_name(plan_cases(stack(*H200)))
    assert {case.expected_family for case in cases.values()} >= {
        "fa2", "torch-flash", "fa3", "fa4", "cudnn", "mem-efficient", "math", "triton", "flex",
    }  # fmt: skip
    assert {component for case in cases.values() for component in case.proves} == set(COMPONENTS)
    assert {case.direction for case in cases.values() if case.api == "flash-attn"} == {
        "forward", "backward",
    }  # fmt: skip
    for case in cases.values():
        assert set(case.expected) <= FAMILIES
        assert case.limit_s > 0
        assert case.shape.heads % case.shape.kv_heads == 0


def test_every_case_has_what_the_agent_needs(stack: Stacks) -> None:
    for case in plan_cases(stack(*H200)):
        body = case.to_agent()
        assert set(body) == {
            "name", "api", "backend", "shape", "dtype", "causal", "mask", "direction", "features",
            "limit_s",
        }  # fmt: skip
        assert body["mask"] in {None, "bool"}
        assert body["dtype"] in {"bf16", "fp16", "fp32"}


def test_a_case_says_why_it_cannot_run(stack: Stacks) -> None:
    cases = by_name(plan_cases(stack("gpu=L4", "torch=2.4.1+cu124", "flash_attn=absent",
                                     "vllm=absent", "transformers=absent")))  # fmt: skip
    assert cases["flash-attn-d128"].lacks == "flash-attn is not installed"
    assert cases["vllm-fa3-varlen"].lacks == "vLLM is not installed"
    assert cases["flex-d128"].lacks == "this torch has no flex_attention"
    assert cases["sdpa-default-gqa"].lacks == "this torch has no enable_gqa"
    assert cases["sdpa-default-d128"].lacks == ""
    assert {case.api for case in whole(list(cases.values()))} & {"flash-attn", "vllm"} == set()


@pytest.mark.parametrize(
    ("items", "first", "flash"),
    [
        (("gpu=NVIDIA H200", "flash_attn=2.8.3", "flash_attn_3.version=absent"), "fa2", "fa2"),
        (("gpu=NVIDIA H200", "flash_attn=2.8.3", "flash_attn_3.version=3.0.0"), "fa3", "fa2"),
        (("gpu=L4", "flash_attn=2.8.3", "flash_attn_3.version=3.0.0"), "fa2", "fa2"),
        (("gpu=L4", "flash_attn=absent"), "torch-flash", "torch-flash"),
        (("gpu=Tesla T4", "flash_attn=absent"), "mem-efficient", "torch-flash"),
    ],
)
def test_xformers_runs_the_kernels_of_others(
    stack: Stacks, items: tuple[str, ...], first: str, flash: str
) -> None:
    cases = by_name(plan_cases(stack(*items, "xformers.version=0.0.35")))
    assert cases["xformers-d128"].expected_family == first
    assert cases["xformers-flash"].expected_family == flash
    assert set(cases["xformers-flash"].expected) == {"fa2", "torch-flash"}
    assert cases["xformers-flash"].refusal == (
        "flash-attn-needs-ampere" if "T4" in items[0] else ""
    )
    assert cases["xformers-cutlass"].expected_family == "mem-efficient"
    assert not any(cases[f"xformers-{name}"].proves for name in ("d128", "flash", "cutlass"))


def test_vllm_carries_some_generations_only(stack: Stacks) -> None:
    cases = by_name(plan_cases(stack("vllm=0.10.2", "vllm.bundled=fa2,fa3")))
    assert cases["vllm-fa4-paged"].lacks == "this vLLM carries no FA4"
    assert cases["vllm-fa2-paged"].lacks == ""


@pytest.mark.parametrize(
    ("items", "family"),
    [
        (("gpu=NVIDIA H200", "torch=2.11.0+cu130", "torch.cudnn=9.19.0.56"), "cudnn"),
        (("gpu=B200", "torch=2.11.0+cu130", "torch.cudnn=9.19.0.56"), "cudnn"),
        (("gpu=NVIDIA H200", "torch=2.10.0+cu128", "torch.cudnn=9.10.2.21"), "torch-flash"),
        (("gpu=NVIDIA H200", "torch=2.9.1+cu128", "torch.cudnn=9.10.2.21"), "cudnn"),
        (("gpu=NVIDIA H200", "torch=2.8.0+cu128", "torch.cudnn=9.10.2.21"), "torch-flash"),
        (("gpu=NVIDIA H200", "torch=2.5.0+cu124", "torch.cudnn=9.1.0.70"), "cudnn"),
        (("gpu=A100", "torch=2.11.0+cu130", "torch.cudnn=9.19.0.56"), "torch-flash"),
        (("gpu=RTX 5090", "torch=2.11.0+cu130", "torch.cudnn=9.19.0.56"), "torch-flash"),
        (("gpu=Tesla T4", "torch=2.11.0+cu128"), "mem-efficient"),
        (("gpu=RTX 4090", "torch=2.6.0+cu124", "platform=win_amd64"), "mem-efficient"),
        ((), "torch-flash"),
    ],
)
def test_the_family_that_sdpa_should_choose(
    stack: Stacks, items: tuple[str, ...], family: str
) -> None:
    case = by_name(plan_cases(stack(*items)))["sdpa-default-d128"]
    assert case.expected_family == family
    assert {"torch-flash", "cudnn", "mem-efficient"} <= set(case.expected)
    assert "math" not in case.expected


@pytest.mark.parametrize(
    ("gpu", "name", "cause"),
    [
        ("T4", "flash-attn-d128", "flash-attn-needs-ampere"),
        ("T4", "sdpa-flash-d128", "sdpa-no-available-kernel"),
        ("V100", "sdpa-cudnn-d128", "sdpa-no-available-kernel"),
        ("A100", "fa3-d128", "fa3-needs-hopper"),
        ("A100", "fa4-d128", "fa4-arch-unsupported"),
        ("A100", "vllm-fa3-varlen", "fa3-needs-hopper"),
        ("A100", "flash-attn-d128", ""),
        ("NVIDIA H200", "fa3-d128", ""),
        ("B200", "fa4-d128", ""),
        ("B200", "transformers-fa3", "fa3-needs-hopper"),
        ("A100", "transformers-fa4", "fa4-arch-unsupported"),
        ("NVIDIA H200", "sdpa-flash-mask", "sdpa-attn-mask-blocks-flash"),
        ("NVIDIA H200", "flash-attn-fp32", "dtype-unsupported-fp32"),
        ("NVIDIA H200", "sdpa-default-d288", "head-dim-unsupported"),
    ],
)
def test_a_refusal_that_is_due_is_known_before(
    stack: Stacks, gpu: str, name: str, cause: str
) -> None:
    assert by_name(plan_cases(stack(f"gpu={gpu}", "torch=2.11.0+cu128")))[name].refusal == cause


def test_old_cards_get_fp16_and_small_ones_small_shapes(stack: Stacks) -> None:
    big, small = (
        by_name(plan_cases(stack(f"gpu={gpu}")))["sdpa-default-d128"]
        for gpu in ("NVIDIA H200", "T4")
    )
    assert (big.dtype, big.shape.q_len, big.shape.batch) == ("bf16", 4096, 4)
    assert (small.dtype, small.shape.q_len, small.shape.batch) == ("fp16", 2048, 2)
    full = plan_cases(stack("gpu=NVIDIA H200", "gpu.memory_used_mib=142000"))
    assert by_name(full)["sdpa-math-d128"].shape.q_len == 512


def test_what_is_compared_has_one_shape(stack: Stacks) -> None:
    cases = by_name(plan_cases(stack(*H200)))
    compared = ("sdpa-default-d128", "sdpa-math-d128", "sdpa-flash-d128", "flash-attn-d128",
                "fa3-d128", "fa4-d128", "flex-d128")  # fmt: skip
    assert (
        len({(cases[name].shape, cases[name].dtype, cases[name].causal) for name in compared}) == 1
    )


def test_a_quick_look_is_short(stack: Stacks) -> None:
    planned = plan_cases(stack(*H200))
    plain = [case.name for case in quick(planned)]
    assert plain == ["sdpa-default-d128", "sdpa-flash-d128", "sdpa-math-d128", "flash-attn-d128",
                     "fa3-d128"]  # fmt: skip


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_quick_look_proves_what_is_required(stack: Stacks, component: Any) -> None:
    chosen = quick(plan_cases(stack(*H200)), [component])
    assert any(component in case.proves for case in chosen)
    assert len(chosen) <= 6
    assert not any(case.on_request or case.lacks for case in chosen)


def test_what_is_required_and_not_installed_is_not_run(stack: Stacks) -> None:
    planned = plan_cases(stack("gpu=L4", "flash_attn=absent", "transformers=absent"))
    assert not any(case.api == "flash-attn" for case in quick(planned, ["flash-attn"]))
    hidden = plan_cases(stack("gpu=L4", "flash_attn=absent", "transformers=5.17.0"))
    assert not any(case.api == "transformers" for case in quick(hidden, ["flash-attn"]))


def test_names_mean_themselves_or_a_beginning(stack: Stacks) -> None:
    planned = plan_cases(stack(*H200))

    def mean(*names: str) -> tuple[list[str], list[str]]:
        chosen, lost = named(planned, names)
        return [case.name for case in chosen], lost

    assert mean("vllm") == (["vllm"], [])
    assert mean("flash-attn-d128", "nonsense", "") == (["flash-attn-d128"], ["nonsense", ""])
    assert mean("SDPA-Flash")[0][0] == "sdpa-flash-d128"
    assert set(mean("sdpa-flash")[0]) < set(mean("sdpa")[0])
    assert mean("sdp") == ([], ["sdp"])
    assert mean("fa4") == (["fa4-d128"], []), "the others compile for long"
    assert mean("fa4-backward") == (["fa4-backward"], [])
    assert "flashinfer-decode" in mean("flashinfer")[0], "none is installed, and that is the answer"


@given(st.text(max_size=20))
def test_any_name_is_answered(word: str) -> None:
    planned = plan_cases(Snapshot())
    chosen, lost = named(planned, [word])
    assert bool(chosen) != bool(lost)


def test_what_compiles_is_run_where_it_is_asked_for_or_required(stack: Stacks) -> None:
    planned = plan_cases(stack("gpu=NVIDIA H200", "torch=2.11.0+cu130", "vllm=0.25.1",
                               "flash_attn_4.version=4.0.0", "transformers=5.17.0",
                               "vllm.bundled=fa2,fa3"))  # fmt: skip
    slow = {"flex-d128", "fa4-d128", "transformers-flex", "vllm-fa2-varlen"}
    short = whole(planned)
    assert not slow & {case.name for case in short}
    assert slow <= {case.name for case in left_out(planned, short)}
    full = whole(planned, compiled=True)
    assert slow <= {case.name for case in full}
    assert left_out(planned, full) == ()
    added = {case.name for case in whole(planned, ["fa4"])} - {case.name for case in short}
    assert added == {"fa4-d128"}
    assert {case.name for case in named(planned, ["flex"])[0]} == {"flex-d128"}


@pytest.mark.parametrize(
    ("gpu", "name"),
    [("NVIDIA H200", "vllm-fa3-varlen"), ("L4", "vllm-fa2-varlen"), ("B200", "vllm-fa4-varlen")],
)
def test_what_is_required_is_proven_by_the_quickest_case(
    stack: Stacks, gpu: str, name: str
) -> None:
    planned = plan_cases(stack(f"gpu={gpu}", "vllm=0.25.1", "vllm.bundled=fa2,fa3,fa4",
                               "torch=2.11.0+cu130"))  # fmt: skip
    chosen = [case.name for case in quick(planned, ["vllm"])]
    assert [case for case in chosen if case.startswith("vllm")] == [name]


def test_vllms_fa2_compiles_only_where_it_has_no_machine_code(stack: Stacks) -> None:
    for gpu, compiles in (("A100-SXM4-80GB", False), ("L4", False), ("NVIDIA H200", True)):
        cases = by_name(plan_cases(stack(f"gpu={gpu}", "vllm=0.25.1", "vllm.bundled=fa2,fa3")))
        assert cases["vllm-fa2-paged"].compiles is compiles


def test_nothing_known_is_no_obstacle() -> None:
    cases = whole(plan_cases(Snapshot()))
    assert len(cases) > 30
    assert not any(case.lacks for case in cases)
