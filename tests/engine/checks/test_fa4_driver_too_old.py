from __future__ import annotations

from typing import Any

import pytest

FACTS = {"gpu.name": "NVIDIA B200", "flash_attn_4.version": "4.0.0b36"}


@pytest.mark.parametrize(
    ("driver", "outcome"), [("575.51.02", "fail"), ("575.51.03", "pass"), ("550", "fail")]
)
def test_the_floor_is_that_of_the_compiler(ask: Any, driver: str, outcome: str) -> None:
    judgement = ask("fa4-driver-too-old", {**FACTS, "driver.version": driver}, "fa4")
    assert judgement.outcome == outcome
    assert outcome == "pass" or "575.51.03" in judgement.detail
