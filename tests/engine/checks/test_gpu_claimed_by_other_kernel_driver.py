from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.gpu_claimed_by_other_kernel_driver import find_other, judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


@pytest.mark.parametrize(
    ("holder", "module"),
    [("nouveau", "nouveau"), ("nova_core", "nova_core"), ("nova-drm", "nova_core")],
)
def test_the_module_to_blacklist_is_named(look: Look, holder: str, module: str) -> None:
    judgement = judge(look({"driver.claimed_by": holder, "gpu.count": 0}))
    assert judgement.values == {"advice.module": module}


def test_a_card_of_a_virtual_machine_gets_no_blacklist(look: Look) -> None:
    judgement = judge(look({"driver.claimed_by": "vfio-pci"}))
    assert (judgement.outcome, judgement.values) == ("fail", {})


def test_a_second_card_may_belong_to_someone_else(look: Look) -> None:
    assert judge(look({"driver.claimed_by": "nouveau, nvidia"})).outcome == "pass"
    assert judge(look({"driver.claimed_by": "nouveau", "gpu.count": 1})).outcome == "pass"


def test_find_other_knows_nothing_of_a_gpu_that_nobody_holds(look: Look) -> None:
    assert find_other(look({"driver.claimed_by": None})) is None
