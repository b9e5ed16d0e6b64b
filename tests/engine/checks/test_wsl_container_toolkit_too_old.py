from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.wsl_container_toolkit_too_old import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


FACTS = {"wsl.version": 2, "container.kind": "docker", "wsl.dxgdmal": False}


@pytest.mark.parametrize(("driver", "outcome"), [("552.44", "pass"), ("555.85", "fail")])
def test_it_begins_with_driver_555(look: Look, driver: str, outcome: str) -> None:
    assert judge(look({**FACTS, "driver.version": driver})).outcome == outcome


def test_the_error_of_cuda_is_enough(look: Look) -> None:
    words = "RuntimeError: CUDA error: named symbol not found"
    assert judge(look({**FACTS, "live.error": words})).evidence[0] == "live.error"


def test_outside_a_container_the_words_mean_something_else(look: Look) -> None:
    facts = {"wsl.version": 2, "container.kind": None, "live.error": "named symbol not found"}
    assert judge(look(facts)).outcome == "pass"


def test_an_unknown_driver_is_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError, match=r"driver.branch"):
        judge(look(FACTS))
