from __future__ import annotations

from typing import Any

import pytest

CHECK = "fa4-arch-unsupported"


@pytest.mark.parametrize(
    ("capability", "outcome", "severity"),
    [
        ("7.5", "fail", None),
        ("8.9", "fail", "warning"),
        ("9.0", "pass", None),
        ("10.3", "pass", None),
        ("11.0", "pass", None),
        ("12.0", "fail", "warning"),
    ],
)
def test_what_is_not_promised_is_a_warning_and_what_is_refused_an_error(
    ask: Any, capability: str, outcome: str, severity: str | None
) -> None:
    facts = {"gpu.compute_capability": capability, "flash_attn_4.version": "4.0.0b36"}
    judgement = ask(CHECK, facts, "fa4")
    assert (judgement.outcome, judgement.severity) == (outcome, severity)
