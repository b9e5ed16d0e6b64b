from __future__ import annotations

from typing import Any

import pytest

CHECK = "fa3-needs-hopper"


@pytest.mark.parametrize(
    ("capability", "outcome"),
    [
        ("7.5", "fail"),
        ("8.0", "pass"),
        ("8.6", "fail"),
        ("8.7", "pass"),
        ("8.9", "fail"),
        ("9.0", "pass"),
        ("10.0", "fail"),
        ("10.3", "fail"),
        ("12.0", "fail"),
    ],
)
def test_hopper_and_the_ampere_cards_with_its_shared_memory(
    ask: Any, capability: str, outcome: str
) -> None:
    facts = {"gpu.compute_capability": capability, "flash_attn_3.version": "3.0.0"}
    assert ask(CHECK, facts, "fa3").outcome == outcome


def test_code_that_was_seen_in_the_build_decides(ask: Any) -> None:
    facts = {"flash_attn_3.version": "3.0.0", "flash_attn_3.sass": ["sm_80", "sm_90a"]}
    for capability, outcome in (
        ("8.9", "pass"),
        ("8.7", "fail"),
        ("9.0", "pass"),
        ("12.0", "fail"),
    ):
        assert ask(CHECK, {**facts, "gpu.compute_capability": capability}).outcome == outcome
