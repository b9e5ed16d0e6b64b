from __future__ import annotations

from typing import Any

import pytest

CHECK = "attention-backend-invalid-choice"
UNSET = {"env.vllm_attention_backend": None, "env.vllm_flash_attn_version": None}


@pytest.mark.parametrize(
    ("vllm", "choice", "outcome"),
    [
        ("0.9.2", "XFORMERS", "pass"),
        ("0.12.0", "XFORMERS", "fail"),
        ("0.9.2", "FLASH_ATTN_VLLM_V1", "pass"),
        ("0.11.2", "FLASH_ATTN_VLLM_V1", "fail"),
        ("0.11.2", "flash_attn", "pass"),
        ("0.11.2", "FLASHINFER", "pass"),
    ],
)
def test_names_come_and_go(ask: Any, vllm: str, choice: str, outcome: str) -> None:
    facts = {**UNSET, "vllm.version": vllm, "env.vllm_attention_backend": choice}
    assert ask(CHECK, facts).outcome == outcome


@pytest.mark.parametrize(
    ("capability", "outcome"),
    [("7.5", "fail"), ("8.0", "pass"), ("8.9", "fail"), ("9.0", "pass"), ("10.0", "pass")],
)
def test_fa3_is_refused_where_vllm_stops_and_not_where_it_falls_back(
    ask: Any, capability: str, outcome: str
) -> None:
    facts = {
        **UNSET,
        "vllm.version": "0.10.2",
        "gpu.compute_capability": capability,
        "env.vllm_flash_attn_version": "3",
    }
    assert ask(CHECK, facts).outcome == outcome


def test_nothing_set_is_nothing_wrong(ask: Any) -> None:
    assert ask(CHECK, {**UNSET, "vllm.version": "0.10.2"}).outcome == "pass"
