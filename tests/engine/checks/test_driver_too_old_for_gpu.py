from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.driver_too_old_for_gpu import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


@pytest.mark.parametrize(
    ("gpu", "branch"),
    [
        ("V100", 384),
        ("Tesla T4", 410),
        ("A100", 450),
        ("RTX 3090", 455),
        ("RTX 4090", 520),
        ("H100", 520),
        ("NVIDIA B200", 570),
        ("RTX 5090", 570),
        ("NVIDIA B300 SXM6 AC", 575),
    ],
)
def test_the_floor_is_the_architectures(look: Look, gpu: str, branch: int) -> None:
    below = judge(look({"gpu.name": gpu, "driver.version": f"{branch - 1}.10"}))
    assert (below.outcome, below.severity) == ("fail", None)
    assert below.values == {"advice.branch": str(branch)}
    at = judge(look({"gpu.name": gpu, "driver.version": f"{branch}.10"}))
    assert (at.outcome, at.severity) in {("pass", None), ("fail", "warning")}


def test_a_branch_that_lists_no_gpu_of_the_kind_yet_is_doubted(look: Look) -> None:
    judgement = judge(look({"gpu.name": "NVIDIA GB10", "driver.version": "575.57.08"}))
    assert (judgement.severity, judgement.values) == ("warning", {"advice.branch": "580"})


def test_the_first_driver_that_lists_a_name_is_no_floor(look: Look) -> None:
    assert judge(look({"gpu.name": "Tesla T4", "driver.version": "470.82.01"})).outcome == "pass"


def test_a_jetsons_numbers_are_others(look: Look) -> None:
    assert judge(look({"gpu.name": "NVIDIA Thor", "driver.version": "540.4.0"})).outcome == "pass"
