from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.cuda_compat_shadows_driver import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


COMPAT = {"driver.libcuda_origin": "compat", "driver.libcuda_version": "580.95.05"}


@pytest.mark.parametrize("module", ["590.48.01", "580.65.06"])
def test_a_compat_library_no_newer_than_the_module_is_refused(look: Look, module: str) -> None:
    judgement = judge(look({**COMPAT, "driver.module_version": module}))
    assert (judgement.outcome, judgement.severity) == ("fail", None)


def test_the_very_same_version_is_no_mismatch(look: Look) -> None:
    assert judge(look({**COMPAT, "driver.module_version": "580.95.05"})).outcome == "pass"


def test_a_short_lived_branch_is_doubted(look: Look) -> None:
    facts = {**COMPAT, "gpu.name": "A100", "torch.version": "2.9.1+cu130"}
    assert judge(look({**facts, "driver.version": "560.35.05"})).severity == "warning"
    assert judge(look({**facts, "driver.version": "550.54.15"})).outcome == "pass"


def test_an_unknown_module_is_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError, match=r"driver.module_version"):
        judge(look(COMPAT))


def test_error_803_names_it(look: Look) -> None:
    words = "Error 803: system has unsupported display driver / cuda driver combination"
    assert judge(look({"live.error": words})).evidence[0] == "live.error"
