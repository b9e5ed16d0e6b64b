from __future__ import annotations

from typing import Any

CHECK = "flash-attn-no-matching-wheel"


def test_the_combination_without_a_wheel_is_spelled_out(ask: Any) -> None:
    facts = {
        "flash_attn.version": None,
        "torch.version": "2.9.1+cu128",
        "python.version": "3.12",
        "os.platform": "linux_x86_64",
    }
    assert ask(CHECK, facts, "flash-attn").detail == (
        "No release of flash-attn has a wheel for "
        "torch 2.9.1+cu128, Python cp312, platform linux_x86_64."
    )


def test_windows_is_left_to_its_own_rule(ask: Any) -> None:
    facts = {
        "flash_attn.version": None,
        "torch.version": "2.9.1+cu128",
        "os.platform": "win_amd64",
    }
    assert ask(CHECK, facts, "flash-attn").outcome == "pass"
