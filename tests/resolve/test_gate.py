from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from flashdoctor import pipeline
from flashdoctor.model.plan import Plan, Resolution
from flashdoctor.resolve import gate
from flashdoctor.resolve.machine import Machine

ReadMachine = Callable[..., Machine]
RULES = pipeline.rules()


def test_a_sound_machine_has_no_obstacle(machine: ReadMachine) -> None:
    assert gate.machine_obstacles(machine("gpu=H100", "driver=580"), RULES, ["vllm"]) == ()


def test_what_is_wrong_with_the_machine_comes_with_a_way_out(machine: ReadMachine) -> None:
    old = machine("gpu=RTX 5090", "driver=535")
    found = gate.machine_obstacles(old, RULES, ["vllm"])
    assert [item.candidate for item in found] == ["FD122"]
    assert found[0].helps.startswith("Update the driver to branch 570")


def test_a_wrong_plan_does_not_pass(machine: ReadMachine, planned: Callable[..., Plan]) -> None:
    here = machine("gpu=RTX 4090", "driver=550")
    plan = planned("vllm", "gpu=RTX 4090", "driver=550")
    assert gate.plan_error(here, RULES, ["vllm"], plan) is None
    wrong = replace(plan, torch="2.8.0")
    error = gate.plan_error(here, RULES, ["vllm"], wrong)
    assert error is not None
    assert error.cause == "vllm-torch-pin-mismatch"


def test_a_plan_is_told_as_assumptions(plan_for: Callable[..., Resolution]) -> None:
    found = plan_for("flash-attn", "gpu=H100", "driver=580", "python=3.14")
    assert found.assume[:3] == ("gpu=H100", "driver=580", "python=3.14")
    for item in (
        "torch=2.15.0+cu132",
        "triton=3.9.0",
        "flash_attn=2.8.3.post2+cu132torch2.15cxx11abiTRUE",
        "flash_attn.sass=sm_90",
        "cuda_toolkit=13.2",
    ):
        assert item in found.assume


def test_a_machine_without_a_name_is_told_by_its_capability(machine: ReadMachine) -> None:
    items = gate.machine_assumptions(machine("compute_capability=8.6", "driver.cuda=12.4"))
    assert "compute_capability=8.6" in items
    assert "driver.cuda=12.4" in items
    assert not any(item.startswith("gpu=") for item in items)


def test_the_abi_of_a_build_is_that_of_torch(
    machine: ReadMachine, planned: Callable[..., Plan]
) -> None:
    here = machine("gpu=A100", "driver=550", "python=3.11")
    old = planned("torch==2.6.0", "gpu=A100", "driver=550", "python=3.11")
    assert gate.machine_abi(here, old) is False
    assert gate.machine_abi(here, replace(old, torch="2.7.1", torch_index="cu126")) is True
