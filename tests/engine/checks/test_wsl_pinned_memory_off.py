from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.wsl_pinned_memory_off import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


@pytest.mark.parametrize(
    ("vllm", "outcome", "severity"),
    [
        ("0.21.0", "pass", None),
        ("0.22.0", "fail", "warning"),
        ("0.24.0", "fail", "warning"),
        ("0.25.0", "fail", None),
        ("0.29.0", "fail", None),
        ("0.30.0", "pass", None),
    ],
)
def test_it_depends_on_the_release(
    look: Look, vllm: str, outcome: str, severity: str | None
) -> None:
    judgement = judge(look({"wsl.version": 2, "vllm.version": vllm}))
    assert (judgement.outcome, judgement.severity) == (outcome, severity)


def test_the_switch_is_the_one_that_the_release_has(look: Look) -> None:
    older = judge(look({"wsl.version": 2, "vllm.version": "0.23.0"}))
    assert older.values == {"advice.switch": "VLLM_USE_V2_MODEL_RUNNER=0"}
    newer = judge(look({"wsl.version": 2, "vllm.version": "0.26.0"}))
    assert newer.values == {"advice.switch": "VLLM_WSL2_ENABLE_PIN_MEMORY=1"}


def test_a_switch_that_the_release_does_not_read_does_not_help(look: Look) -> None:
    facts = {"wsl.version": 2, "env.vllm_wsl2_enable_pin_memory": "1"}
    assert judge(look({**facts, "vllm.version": "0.23.0"})).outcome == "fail"
    assert judge(look({**facts, "vllm.version": "0.25.1"})).outcome == "pass"
