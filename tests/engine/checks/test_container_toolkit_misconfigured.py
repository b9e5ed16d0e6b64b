from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.engine.checks.container_toolkit_misconfigured import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


NODES_ONLY = {
    "container.kind": "docker",
    "driver.device_nodes": 2,
    "driver.libcuda_path": None,
}


def test_nodes_without_libraries_are_a_half_done_handover(look: Look) -> None:
    assert judge(look(NODES_ONLY)).outcome == "fail"


@pytest.mark.parametrize(
    "facts",
    [
        {"container.kind": None},
        {"wsl.version": 2},
        {"container.driver_capabilities": "utility,video"},
        {"live.cuda_available": True},
        {"driver.device_nodes": 0},
    ],
)
def test_what_other_rules_explain_is_left_to_them(look: Look, facts: dict[str, Any]) -> None:
    assert judge(look({**NODES_ONLY, **facts})).outcome == "pass"
