from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.engine.checks.fabric_manager_not_running import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


def gpus(*states: str) -> list[dict[str, Any]]:
    return [
        {"index": i, "name": "NVIDIA H200", "compute_capability": "9.0", "fabric_state": state}
        for i, state in enumerate(states)
    ]


def test_the_gpus_own_state_counts_inside_a_container(look: Look) -> None:
    facts = {"gpu.nvswitch": True, "container.kind": "docker"}
    ready = {**facts, "gpu.devices": gpus("completed", "completed")}
    assert judge(look(ready)).outcome == "pass"
    judgement = judge(look({**facts, "gpu.devices": gpus("completed", "not-started")}))
    assert "not-started" in judgement.detail


def test_a_container_cannot_see_the_service(look: Look) -> None:
    with pytest.raises(MissingFactError, match=r"driver.fabric_manager"):
        judge(look({"gpu.nvswitch": True, "container.kind": "docker"}))


def test_a_service_of_another_version_does_not_serve_the_driver(look: Look) -> None:
    facts = {
        "gpu.nvswitch": True,
        "driver.fabric_manager": "running",
        "driver.fabric_manager_version": "570.124.06",
        "driver.version": "570.133.20",
    }
    assert "570.124.06" in judge(look(facts)).detail


def test_error_802_names_it(look: Look) -> None:
    words = "Error 802: system not yet initialized"
    assert judge(look({"live.error": words})).evidence[0] == "live.error"
