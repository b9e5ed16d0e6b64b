from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.view import MissingFactError

CHECK = "vllm-arch-not-built"


def test_ptx_can_serve_a_newer_gpu(ask: Any) -> None:
    facts = {
        "gpu.name": "NVIDIA B200",
        "vllm.version": "0.8.5",
        "vllm.sass": ["sm_80", "sm_90"],
        "vllm.ptx": ["compute_90"],
    }
    assert ask(CHECK, facts).outcome == "pass"
    judgement = ask(CHECK, {**facts, "vllm.ptx": []})
    assert judgement.detail == "vLLM 0.8.5 has sm_80, sm_90, nothing for NVIDIA B200 (10.0)."


def test_gpus_below_the_minimum_are_another_rule_s(ask: Any) -> None:
    devices = [
        {"index": 0, "name": "Tesla P40", "compute_capability": "6.1"},
        {"index": 1, "name": "NVIDIA L4", "compute_capability": "8.9"},
    ]
    assert ask(CHECK, {"gpu.devices": devices, "vllm.version": "0.10.2"}).outcome == "pass"


def test_what_a_jetson_runs_is_not_the_wheel_of_the_tables(ask: Any) -> None:
    thor = {"gpu.name": "NVIDIA Thor", "vllm.version": "0.20.2"}
    with pytest.raises(MissingFactError):
        ask(CHECK, thor)
    assert ask(CHECK, {**thor, "vllm.sass": ["sm_90"]}).outcome == "fail"
