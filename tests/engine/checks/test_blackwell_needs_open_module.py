from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.blackwell_needs_open_module import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


@pytest.mark.parametrize(
    ("gpu", "outcome"),
    [
        ("NVIDIA B200", "fail"),
        ("NVIDIA GB10", "fail"),
        ("RTX 5090", "fail"),
        ("NVIDIA GH200 480GB", "fail"),
        ("H100", "pass"),
        ("RTX 4090", "pass"),
    ],
)
def test_blackwell_and_grace_hopper_have_open_modules_only(
    look: Look, gpu: str, outcome: str
) -> None:
    facts = {"gpu.name": gpu, "driver.module_flavor": "proprietary"}
    assert judge(look(facts)).outcome == outcome


def test_a_started_cuda_outweighs_the_flavor(look: Look) -> None:
    facts = {"gpu.name": "RTX 5090", "driver.module_flavor": "proprietary"}
    assert judge(look({**facts, "live.cuda_available": True})).outcome == "pass"
