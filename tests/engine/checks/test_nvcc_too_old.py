from __future__ import annotations

from typing import Any

CHECK = "nvcc-too-old"
BUILD = {"torch.version": "2.12.0", "flash_attn.version": None}


def test_the_highest_of_the_floors_is_named(ask: Any) -> None:
    facts = {**BUILD, "gpu.name": "NVIDIA B300 SXM6 AC", "toolkit.version": "11.6"}
    judgement = ask(CHECK, facts, "flash-attn")
    assert judgement.values == {"advice.cuda": "12.9"}
    assert judgement.detail == (
        "NVIDIA B300 SXM6 AC (10.3) needs nvcc 12.9 or newer, the first one found is 11.6."
    )


def test_the_package_has_a_floor_of_its_own(ask: Any) -> None:
    judgement = ask(CHECK, {**BUILD, "toolkit.version": "11.6"}, "flash-attn")
    assert judgement.values == {"advice.cuda": "11.7"}
    assert ask(CHECK, {**BUILD, "toolkit.version": "11.7"}, "flash-attn").outcome == "pass"


def test_no_compiler_at_all_is_not_an_old_one(ask: Any) -> None:
    assert ask(CHECK, {**BUILD, "toolkit.version": None}, "flash-attn").outcome == "pass"
