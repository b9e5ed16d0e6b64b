from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.cuda_forward_compat_unsupported import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


COMPAT = {
    "driver.libcuda_origin": "compat",
    "driver.libcuda_version": "580.95.05",
    "driver.module_version": "550.54.15",
}


@pytest.mark.parametrize(
    ("gpu", "outcome", "severity"),
    [
        ("RTX 4090", "fail", None),
        ("GeForce RTX 4090 Laptop GPU", "fail", None),
        ("RTX A6000", "fail", "warning"),
        ("A100", "pass", None),
    ],
)
def test_it_depends_on_the_kind_of_card(
    look: Look, gpu: str, outcome: str, severity: str | None
) -> None:
    judgement = judge(look({**COMPAT, "gpu.name": gpu}))
    assert (judgement.outcome, judgement.severity) == (outcome, severity)


def test_an_older_library_is_another_fault(look: Look) -> None:
    facts = {**COMPAT, "gpu.name": "RTX 4090", "driver.module_version": "590.48.01"}
    assert judge(look(facts)).outcome == "pass"


def test_error_804_names_it(look: Look) -> None:
    words = "Error 804: forward compatibility was attempted on non supported HW"
    assert judge(look({"live.error": words, "driver.libcuda_origin": "driver"})).outcome == "fail"
