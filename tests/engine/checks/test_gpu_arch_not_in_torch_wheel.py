from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.engine.checks.gpu_arch_not_in_torch_wheel import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


def test_the_same_release_is_offered_in_another_cuda(look: Look) -> None:
    judgement = judge(look({"gpu.name": "V100", "torch.version": "2.11.0+cu130"}))
    assert judgement.values == {"advice.torch": "2.11.0", "advice.index": "cu126"}
    assert "sm_70" in judgement.detail


def test_else_the_newest_release_that_gpu_driver_and_python_take(look: Look) -> None:
    facts = {
        "gpu.name": "RTX 5090",
        "torch.version": "2.6.0+cu124",
        "driver.version": "570.86.16",
        "python.version": "3.12",
    }
    assert judge(look(facts)).values == {"advice.torch": "2.11.0", "advice.index": "cu128"}
    newer = judge(look({**facts, "driver.version": "580.95.05"}))
    assert newer.values == {"advice.torch": "2.15.0", "advice.index": "cu132"}
    older_python = judge(look({**facts, "driver.version": "580.95.05", "python.version": "3.10"}))
    assert older_python.values["advice.torch"] == "2.14.1"


def test_a_kernel_that_ran_outweighs_any_list(look: Look) -> None:
    facts = {"gpu.name": "V100", "torch.version": "2.11.0+cu130", "live.kernel_ran": True}
    assert judge(look(facts)).evidence == ("live.kernel_ran",)


def test_what_torch_says_of_itself_counts_before_the_tables(look: Look) -> None:
    facts = {"gpu.name": "V100", "torch.version": "2.11.0+cu130"}
    listed = {**facts, "live.arch_list": ["sm_70", "sm_75"]}
    assert judge(look(listed)).outcome == "pass"
    empty: list[str] = []
    assert judge(look({**facts, "live.arch_list": empty})).outcome == "fail"


def test_one_served_gpu_is_enough_to_go_on(look: Look) -> None:
    devices = [
        {"index": 0, "name": "NVIDIA L4", "compute_capability": "8.9", "visible": True},
        {"index": 1, "name": "Tesla P4", "compute_capability": "6.1", "visible": True},
    ]
    assert judge(look({"torch.version": "2.8.0", "gpu.devices": devices})).outcome == "pass"


@pytest.mark.parametrize(
    "facts",
    [
        {"torch.version": "2.9.1+rocm6.4", "gpu.compute_capability": "9.0"},
        {"torch.version": "2.9.1+cpu", "gpu.name": "A100"},
        {"torch.version": None, "gpu.name": "A100"},
        {"torch.version": "2.9.1", "gpu.name": None},
        {"torch.version": "2.9.1", "gpu.name": "NVIDIA Thor"},
        {"torch.version": "2.9.1", "gpu.name": "GH200", "os.platform": "linux_aarch64"},
        {"torch.version": "2.9.1", "torch.cuda": "12.9", "gpu.name": "NVIDIA Thor"},
        {"torch.version": "2.9.1+cu126", "gpu.name": "Orin"},
        {"torch.version": "2.9.1+cu130", "gpu.name": "NVIDIA Thor"},
        {"torch.version": "2.8.0.dev20250601+cu128", "gpu.name": "V100"},
    ],
)
def test_what_is_not_known_decides_nothing(look: Look, facts: dict[str, Any]) -> None:
    with pytest.raises(MissingFactError):
        judge(look(facts))


def test_a_variant_that_nobody_listed_lies_between_its_neighbours(look: Look) -> None:
    facts = {"torch.version": "2.7.1", "torch.cuda": "12.7"}
    assert judge(look({**facts, "gpu.name": "H100"})).evidence[0] == "torch.cuda"
    assert judge(look({**facts, "gpu.name": "Tesla K80"})).outcome == "fail"


def test_a_jetson_fails_where_nothing_of_its_generation_is_there(look: Look) -> None:
    thor = {"gpu.name": "NVIDIA Thor", "torch.version": "2.9.1+cu128"}
    assert "sm_110" in judge(look(thor)).detail
    stated = {"gpu.name": "Orin", "torch.version": "2.9.1", "live.arch_list": ["sm_90"]}
    assert judge(look(stated)).outcome == "fail"
