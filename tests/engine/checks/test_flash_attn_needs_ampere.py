from __future__ import annotations

from typing import Any

import pytest

CHECK = "flash-attn-needs-ampere"
L4 = {"index": 0, "name": "NVIDIA L4", "compute_capability": "8.9"}
T4 = {"index": 1, "name": "Tesla T4", "compute_capability": "7.5"}


def test_one_old_gpu_among_others_is_enough_and_is_named(ask: Any) -> None:
    judgement = ask(CHECK, {"gpu.devices": [L4, T4], "flash_attn.version": "2.8.3"})
    assert judgement.outcome == "fail"
    assert judgement.detail == ("Tesla T4 (7.5): flash-attn needs compute capability 8.0 or newer.")


def test_a_gpu_that_is_hidden_does_not_count(ask: Any) -> None:
    facts = {"gpu.devices": [L4, {**T4, "visible": False}], "flash_attn.version": "2.8.3"}
    assert ask(CHECK, facts).outcome == "pass"


@pytest.mark.parametrize(
    ("version", "capability", "outcome"),
    [
        ("0.2.8", "7.5", "pass"),
        ("1.0.9", "7.5", "pass"),
        ("1.0.9", "7.0", "fail"),
        ("2.0.0", "7.5", "fail"),
    ],
)
def test_turing_was_taken_up_to_1_x(ask: Any, version: str, capability: str, outcome: str) -> None:
    facts = {"gpu.compute_capability": capability, "flash_attn.version": version}
    assert ask(CHECK, facts).outcome == outcome
