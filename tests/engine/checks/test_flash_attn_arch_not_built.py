from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.view import MissingFactError

CHECK = "flash-attn-arch-not-built"


def test_what_is_in_the_build_and_what_is_not_is_told(ask: Any) -> None:
    facts = {
        "gpu.name": "NVIDIA GeForce RTX 5090",
        "torch.version": "2.7.1+cu128",
        "python.version": "3.12",
        "os.platform": "linux_x86_64",
        "flash_attn.version": "2.7.4.post1",
        "flash_attn.sass": ["sm_80", "sm_90"],
    }
    judgement = ask(CHECK, facts)
    assert judgement.detail == (
        "flash-attn 2.7.4.post1 has sm_80, sm_90, nothing for NVIDIA GeForce RTX 5090 (12.0)."
    )
    assert "/v2.8.3.post1/" in judgement.values["advice.wheel"]


def test_before_2_7_3_it_is_the_check_at_run_time_that_refuses(ask: Any) -> None:
    facts = {"gpu.name": "NVIDIA B200", "flash_attn.version": "2.7.2.post1"}
    judgement = ask(CHECK, facts)
    assert "flash_attn.accepts_blackwell" in judgement.evidence
    assert judgement.detail.endswith("turns away NVIDIA B200 (10.0).")


def test_a_mixed_machine_is_judged_by_the_gpus_that_could_run_it(ask: Any) -> None:
    devices = [
        {"index": 0, "name": "Tesla T4", "compute_capability": "7.5"},
        {"index": 1, "name": "NVIDIA L4", "compute_capability": "8.9"},
    ]
    facts = {"gpu.devices": devices, "flash_attn.version": "2.8.3", "flash_attn.sass": ["sm_80"]}
    assert ask(CHECK, facts).outcome == "pass"


def test_an_extension_that_could_not_be_read_is_not_judged(ask: Any) -> None:
    facts = {"gpu.name": "NVIDIA L4", "flash_attn.version": "2.8.3", "flash_attn.sass": []}
    with pytest.raises(MissingFactError):
        ask(CHECK, facts)
