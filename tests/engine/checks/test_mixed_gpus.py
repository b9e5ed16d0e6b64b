from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flashdoctor.engine.checks.mixed_gpus import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


def gpus(*names: str) -> list[dict[str, Any]]:
    return [{"index": i, "name": name, "compute_capability": "8.9"} for i, name in enumerate(names)]


def test_each_kind_is_named_once(look: Look) -> None:
    judgement = judge(look({"gpu.devices": gpus("NVIDIA L4", "NVIDIA L40S", "NVIDIA L4")}))
    assert judgement.detail.startswith("Visible: NVIDIA L4, NVIDIA L40S.")
    assert "by speed" in judgement.detail


def test_the_order_is_no_worry_where_it_is_set(look: Look) -> None:
    facts = {"gpu.devices": gpus("NVIDIA L4", "NVIDIA L40S")}
    assert "by speed" not in judge(look({**facts, "env.cuda_device_order": "PCI_BUS_ID"})).detail


def test_eight_of_a_kind_are_of_one_kind(look: Look) -> None:
    assert judge(look({"gpu.devices": gpus(*["NVIDIA H200"] * 8)})).outcome == "pass"
