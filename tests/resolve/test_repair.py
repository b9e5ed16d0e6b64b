from __future__ import annotations

import pytest

from flashdoctor import pipeline
from flashdoctor.model.plan import Rejection
from flashdoctor.resolve.repair import Repair, find_repair

PLAIN = ("python=3.12", "glibc=2.35", "platform=linux_x86_64")
OLD_WHEEL = (
    "flash_attn=flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE-cp312-cp312-linux_x86_64.whl"
)


def repair(*assume: str, require: str = "") -> Repair | tuple[Rejection, ...]:
    facts = pipeline.assume([*PLAIN, *assume])
    report = pipeline.judge_snapshot(facts, required=require.split())  # type: ignore[arg-type]
    return find_repair(report, pipeline.tables(), pipeline.rules())


def releases(found: Repair | tuple[Rejection, ...]) -> dict[str, str | None]:
    assert isinstance(found, Repair), found
    plan = found.move.plan
    every = {
        "torch": plan.torch_version,
        "vllm": plan.vllm,
        "transformers": plan.transformers,
        "flash-attn": plan.flash_attn,
    }
    return {name: version for name, version in every.items() if name in found.move.changed}


def test_flash_attn_follows_torch() -> None:
    found = repair("gpu=H100", "driver=550", "torch=2.7.1+cu126", OLD_WHEEL, require="flash-attn")
    assert releases(found) == {"flash-attn": "2.8.3.post1"}
    assert isinstance(found, Repair)
    assert [item.id for item in found.targets] == ["FD302", "FD303"]


def test_the_engine_that_is_there_decides_about_torch() -> None:
    found = repair("gpu=V100", "driver=550", "torch=2.11.0+cu130", "vllm=0.19.1", require="vllm")
    assert releases(found) == {"torch": "2.10.0+cu128"}


def test_the_variant_is_less_of_a_change_than_another_release() -> None:
    assert releases(repair("gpu=A100", "driver=535", "torch=2.9.1+cu130")) == {
        "torch": "2.9.1+cu128"
    }


def test_an_engine_moves_where_no_torch_can_help_it() -> None:
    found = repair("gpu=A100", "driver=535", "torch=2.11.0", "vllm=0.21.0", require="vllm")
    assert releases(found)["vllm"] == "0.19.1"


def test_flash_attn_is_not_worth_another_engine() -> None:
    """There is no wheel for torch 2.15 and no compiler: the vLLM that runs stays all the same."""
    stack = ("torch=2.15.0", "vllm=0.33.0", "cuda_toolkit=absent")
    found = repair("gpu=H100", "driver=580", *stack, "flash_attn=2.8.3+cu12torch2.8cxx11abiTRUE")
    assert isinstance(found, Repair)
    assert "vllm" not in found.move.changed
    assert found.move.plan.builds


def test_without_a_compiler_a_torch_with_a_wheel_is_taken() -> None:
    wheel = "flash_attn=2.8.3+cu12torch2.8cxx11abiTRUE"
    found = repair("gpu=H100", "driver=580", "torch=2.9.1", "cuda_toolkit=absent", wheel)
    assert isinstance(found, Repair)
    assert found.move.plan.torch == "2.8.0"
    assert not found.move.plan.builds


def test_where_torch_moves_anyway_a_wheel_comes_before_a_compiler() -> None:
    stack = ("torch=2.6.0+cu124", "flash_attn=2.7.4.post1", "cuda_toolkit=12.8")
    found = repair("gpu=RTX 5090", "driver=570.86", *stack)
    assert isinstance(found, Repair)
    plan = found.move.plan
    assert (plan.torch, plan.flash_attn, plan.builds) == ("2.8.0", "2.8.3.post1", ())


def test_a_machine_that_is_broken_otherwise_still_gets_its_packages() -> None:
    found = repair("gpu=RTX 5090", "driver=535", "torch=2.6.0+cu124")
    assert isinstance(found, Repair)
    assert found.targets[0].id == "FD201"
    assert "FD122" in found.left


def test_a_part_is_mended_where_the_whole_cannot_be() -> None:
    """No vLLM runs on Pascal; torch can be mended there all the same."""
    stack = ("torch=2.8.0+cu128", "vllm=0.11.0")
    found = repair("gpu=GTX 1080", "driver=550", *stack, require="vllm")
    assert releases(found) == {"torch": "2.8.0+cu126"}
    assert isinstance(found, Repair)
    assert "FD603" in found.left


@pytest.mark.parametrize(
    ("assume", "reason"),
    [
        (("gpu=A100", "driver=470", "torch=2.11.0", "python=3.14"), "driver"),
        (("gpu=GTX 1080", "driver=550", "torch=2.8.0+cu126", "vllm=0.11.0"), "capability"),
    ],
)
def test_where_nothing_fits_there_is_a_reason(assume: tuple[str, ...], reason: str) -> None:
    found = repair(*assume, require="vllm" if "vllm=0.11.0" in assume else "")
    assert not isinstance(found, Repair)
    assert reason in " ".join(item.reason for item in found)


def test_a_package_that_nobody_spoke_of_is_not_planned() -> None:
    found = repair("gpu=A100", "driver=535", "torch=2.9.1+cu130", require="vllm transformers")
    assert releases(found) == {"torch": "2.9.1+cu128"}
