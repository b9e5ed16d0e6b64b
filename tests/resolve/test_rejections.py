from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.model.plan import Resolution
from flashdoctor.resolve.machine import Machine
from flashdoctor.resolve.rejections import search_obstacles, want_obstacles
from flashdoctor.resolve.search import Found
from flashdoctor.resolve.wants import parse_wants

PlanFor = Callable[..., Resolution]


def test_only_newer_releases_are_told(plan_for: PlanFor) -> None:
    found = plan_for("vllm", "gpu=H100", "driver=580")
    assert found.rejected == (), "there is nothing newer than the newest"


def test_why_a_newer_torch_was_not_taken(plan_for: PlanFor) -> None:
    facts = ("gpu=RTX 4090", "driver=580")
    by_flash = plan_for("flash-attn", *facts).rejected
    assert by_flash[0].candidate == "torch 2.9.0 to 2.15.0 (cu126, cu128, cu130, cu132)"
    assert by_flash[0].reason == "no flash-attn release has a wheel for it"
    by_change = plan_for("transformers", *facts, "torch=2.12.0+cu130").rejected
    assert by_change[0].reason == "the installed release fits as well, and stays"


def test_a_wanted_transformers_tells_what_is_newer(plan_for: PlanFor) -> None:
    found = plan_for("vllm transformers", "gpu=H100", "driver=580")
    assert found.rejected[0].candidate == "transformers 5.21.1 to 5.24.0"
    assert found.rejected[0].reason == "vLLM 0.33.0 takes <5.21.0,>=5.16.1"


@pytest.mark.parametrize(
    ("wants", "facts", "candidates"),
    [
        (["vllm"], ["gpu=H100"], []),
        (["flash-attn", "fa3"], ["gpu=Tesla T4"], ["flash-attn", "fa3"]),
        (["vllm"], [], ["the GPU"]),
        (["vllm"], ["gpu=Orin"], ["this machine"]),
    ],
)
def test_obstacles_before_any_search(
    machine: Callable[..., Machine], wants: list[str], facts: list[str], candidates: list[str]
) -> None:
    found = want_obstacles(machine(*facts), parse_wants(wants), ())
    assert [item.candidate for item in found] == candidates


def test_a_search_without_a_reason_still_says_something() -> None:
    found = search_obstacles(Found(candidates=()), parse_wants(["torch==99"]))
    assert [item.candidate for item in found] == ["torch==99"]


def test_a_release_that_does_not_exist_is_no_plan(plan_for: PlanFor) -> None:
    absent = ("torch==99", "vllm==99", "vllm==0.10.99", "flash-attn==99", "transformers==99")
    for want in (*absent, "transformers==4.57.99"):
        found = plan_for(want, "gpu=H100", "driver=550")
        assert found.plan is None
        assert [item.candidate for item in found.obstacles] == [want]
        assert "no such release is in the tables" in found.obstacles[0].reason
