from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.engine.checks.wsl_linux_driver_installed import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


FACTS = {"wsl.version": 2, "wsl.linux_driver_packages": ["libnvidia-compute-550"]}


def test_the_packages_to_purge_are_named(look: Look) -> None:
    judgement = judge(look({**FACTS, "driver.libcuda_origin": "driver"}))
    assert judgement.values == {"advice.packages": "libnvidia-compute-550"}
    assert judgement.severity is None


@pytest.mark.parametrize(
    "harmless", [{"driver.libcuda_origin": "wsl"}, {"live.cuda_available": True}]
)
def test_packages_that_lose_against_wsls_library_are_only_a_warning(
    look: Look, harmless: dict[str, Any]
) -> None:
    assert judge(look({**FACTS, **harmless})).severity == "warning"
