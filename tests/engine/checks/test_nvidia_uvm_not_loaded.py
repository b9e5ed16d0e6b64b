from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.nvidia_uvm_not_loaded import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


def test_a_bare_machine_makes_the_node_on_first_use(look: Look) -> None:
    facts = {"gpu.count": 1, "driver.uvm_node": False}
    assert judge(look(facts)).severity == "info"
    assert judge(look({**facts, "container.kind": "docker"})).severity is None
    assert judge(look({**facts, "live.cuda_available": False})).severity is None


def test_without_a_gpu_nobody_misses_it(look: Look) -> None:
    facts = {"driver.uvm_node": False, "driver.device_nodes": 0, "container.kind": "docker"}
    assert judge(look(facts)).outcome == "pass"


def test_the_words_of_cuda_are_enough(look: Look) -> None:
    judgement = judge(look({"live.error": "RuntimeError: CUDA unknown error - this may be due"}))
    assert judgement.outcome == "fail"


def test_an_unlisted_dev_is_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError, match=r"driver.uvm_node"):
        judge(look({"gpu.count": 1}))
