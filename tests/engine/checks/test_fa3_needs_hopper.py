from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.view import MissingFactError

CHECK = "fa3-needs-hopper"


@pytest.mark.parametrize(
    ("capability", "outcome"),
    [
        ("7.5", "fail"),
        ("8.6", "fail"),
        ("8.9", "fail"),
        ("9.0", "pass"),
        ("10.0", "fail"),
        ("10.3", "fail"),
        ("12.0", "fail"),
    ],
)
def test_without_a_look_into_the_build_only_hopper_is_sure(
    ask: Any, capability: str, outcome: str
) -> None:
    facts = {"gpu.compute_capability": capability, "flash_attn_3.version": "3.0.0"}
    assert ask(CHECK, facts, "fa3").outcome == outcome


@pytest.mark.parametrize("capability", ["8.0", "8.7"])
def test_the_ampere_cards_with_enough_shared_memory_depend_on_the_build(
    ask: Any, capability: str
) -> None:
    facts = {"gpu.compute_capability": capability, "flash_attn_3.version": "3.0.0"}
    with pytest.raises(MissingFactError, match=r"flash_attn_3.sass"):
        ask(CHECK, facts, "fa3")
    built = [f"sm_{capability.replace('.', '')}", "sm_90a"]
    assert ask(CHECK, {**facts, "flash_attn_3.sass": built}, "fa3").outcome == "pass"


def test_code_that_was_seen_in_the_build_decides(ask: Any) -> None:
    facts = {"flash_attn_3.version": "3.0.0", "flash_attn_3.sass": ["sm_80", "sm_90a"]}
    for capability, outcome in (
        ("8.9", "pass"),
        ("8.7", "fail"),
        ("9.0", "pass"),
        ("12.0", "fail"),
    ):
        assert ask(CHECK, {**facts, "gpu.compute_capability": capability}).outcome == outcome
