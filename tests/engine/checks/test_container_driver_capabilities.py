from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.container_driver_capabilities import judge, lacks_compute
from flashdoctor.engine.view import View

Look = Callable[..., View]


@pytest.mark.parametrize(
    ("value", "lacks"),
    [
        ("utility", True),
        ("graphics,utility", True),
        ("compute", False),
        ("utility,compute", False),
        ("ALL", False),
        ("compute utility", False),
        ("", False),
    ],
)
def test_the_variable_is_a_list(look: Look, value: str, lacks: bool) -> None:
    view = look({"container.kind": "docker", "container.driver_capabilities": value})
    assert lacks_compute(view) is lacks
    assert judge(view).outcome == ("fail" if lacks else "pass")


def test_a_library_that_came_in_all_the_same_settles_it(look: Look) -> None:
    facts = {"container.kind": "docker", "container.driver_capabilities": "utility"}
    there = {"driver.libcuda_path": "/usr/lib64/libcuda.so.1"}
    assert judge(look({**facts, **there})).outcome == "pass"
