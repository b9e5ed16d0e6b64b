from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.device_nodes_denied import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


@pytest.mark.parametrize(
    ("denied", "nodes", "severity"),
    [
        (["/dev/nvidia0", "/dev/nvidia1"], 2, None),
        (["/dev/nvidia1"], 2, "warning"),
        (["/dev/nvidiactl"], 2, None),
        (["/dev/nvidia-uvm"], 2, None),
    ],
)
def test_a_few_denied_gpus_leave_the_rest(
    look: Look, denied: list[str], nodes: int, severity: str | None
) -> None:
    facts = {"driver.nodes_denied": denied, "driver.device_nodes": nodes}
    judgement = judge(look(facts))
    assert (judgement.outcome, judgement.severity) == ("fail", severity)


def test_nodes_that_cuda_does_not_need_do_not_count(look: Look) -> None:
    facts = {"driver.nodes_denied": ["/dev/nvidia-modeset"], "driver.device_nodes": 1}
    assert judge(look(facts)).outcome == "pass"
