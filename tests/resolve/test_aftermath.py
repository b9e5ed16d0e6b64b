from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor import pipeline, planning
from flashdoctor.model.plan import Plan
from flashdoctor.resolve.aftermath import Move, facts_after, failing, move
from flashdoctor.resolve.change import Change
from flashdoctor.resolve.machine import Machine

Machines = Callable[..., Machine]
GPU = ("gpu=H100", "driver=580")
NEW = "flash_attn-2.8.3.post1+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"
FLASH = Change("stays", frozenset({"flash-attn"}))


def planned(machine: Machine, *wants: str) -> Plan:
    plan = planning.resolve(machine.installed, wants=wants).plan
    assert plan is not None
    return plan


def moved(machine: Machine, *wants: str, change: Change = FLASH) -> Move:
    return move(machine, planned(machine, *wants), [want.split("=")[0] for want in wants], change)


def test_only_what_is_not_there_yet_changes(machine: Machines) -> None:
    on = machine(*GPU, "torch=2.8.0+cu128", "flash_attn=2.7.4.post1+cu12torch2.6cxx11abiFALSE")
    found = moved(on, "flash-attn", "torch==2.8.0")
    assert found.changed == {"flash-attn"}
    assert found.assume == (f"flash_attn={NEW}",)
    assert found.removed == ()


def test_another_variant_of_the_same_torch_is_a_change(machine: Machines) -> None:
    found = moved(machine(*GPU, "torch=2.8.0+cpu"), "torch==2.8.0")
    assert found.changed == {"torch"}
    assert found.assume[0] == "torch=2.8.0+cu128"


def test_what_was_compiled_for_the_torch_that_goes_is_removed(machine: Machines) -> None:
    on = machine(*GPU, "torch=2.6.0+cu124", "flash_attn=2.7.4.post1")
    found = moved(on, "torch==2.8.0", change=Change("free", frozenset()))
    assert found.removed == ("flash-attn",)
    assert found.assume[-1] == "flash_attn.version=absent"
    after = facts_after(on, found)
    assert after["flash_attn.version"].state == "absent"
    assert after.value("torch.version") == "2.8.0+cu128"


def test_it_stays_beside_a_torch_that_it_runs_with_as_well(machine: Machines) -> None:
    on = machine(*GPU, "torch=2.8.0+cu126", "flash_attn=2.8.3")
    found = moved(on, "torch==2.8.0", change=Change("variant", frozenset()))
    assert not found.removed


def test_a_release_that_stays_is_not_installed_again(machine: Machines) -> None:
    on = machine(*GPU, "torch=2.8.0", "vllm=0.10.2", "transformers=4.57.3")
    found = moved(on, "vllm==0.10.2", change=Change("stays", frozenset()))
    assert not found.changed
    assert found.plan.transformers == "4.57.3"
    assert moved(machine(*GPU, "torch=2.8.0", "vllm=0.10.2"), "vllm==0.10.2").plan.transformers is (
        None
    )


def test_a_build_of_what_stays_is_dropped(machine: Machines) -> None:
    on = machine(*GPU, "torch=2.15.0", "flash_attn=2.8.3.post2")
    whole = planned(on, "flash-attn==2.8.3.post2", "torch==2.15.0")
    assert whole.builds
    found = move(on, whole, ["flash-attn", "torch"], Change("stays", frozenset()))
    assert not found.plan.builds
    assert found.plan.flash_attn is None


def test_what_was_seen_of_a_run_is_forgotten(machine: Machines) -> None:
    on = machine(*GPU, "torch=2.8.0+cu128", "flash_attn=2.7.4.post1", "live.status=error")
    after = facts_after(on, moved(on, "flash-attn", "torch==2.8.0"))
    assert after["live.status"].state == "unknown"
    assert after.value("gpu.name") == "H100"
    assert after.value("flash_attn.wheel.torch") == "2.8"


@pytest.mark.parametrize("required", [frozenset[str](), frozenset({"flash-attn"})])
def test_the_rules_judge_it(machine: Machines, required: frozenset[str]) -> None:
    on = machine(*GPU, "torch=2.8.0+cu128", "flash_attn=2.7.4.post1+cu12torch2.6cxx11abiFALSE")
    rules = pipeline.rules()
    found, _ = failing(on.installed, on, rules, required)  # type: ignore[arg-type]
    assert found["FD302"] == "error"
    after = facts_after(on, moved(on, "flash-attn", "torch==2.8.0"))
    found, passed = failing(after, on, rules, required)  # type: ignore[arg-type]
    assert "error" not in found.values()
    assert "FD302" in passed
