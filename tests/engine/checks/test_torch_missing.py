from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.torch_missing import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


def test_the_default_wheel_is_named_only_where_nothing_more_is_known(look: Look) -> None:
    judgement = judge(look({"torch.version": None}))
    assert judgement.values == {"advice.command": "pip install torch"}


def test_a_wheel_for_this_gpu_and_driver_is_named(look: Look) -> None:
    facts = {"torch.version": None, "gpu.name": "V100", "driver.version": "535.161.07"}
    command = judge(look({**facts, "python.version": "3.12"})).values["advice.command"]
    assert command.startswith("pip install torch==2.15.0 ")
    assert command.endswith("/cu126")


def test_an_unread_environment_is_no_missing_torch(look: Look) -> None:
    with pytest.raises(MissingFactError, match=r"torch.version"):
        judge(look({}))
