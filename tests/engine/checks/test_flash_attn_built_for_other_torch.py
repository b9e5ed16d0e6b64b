from __future__ import annotations

from typing import Any

import pytest

CHECK = "flash-attn-built-for-other-torch"


def built_for(torch: str) -> str:
    return f"flash_attn-2.8.3+cu12torch{torch}cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"


@pytest.mark.parametrize(
    ("built", "running", "severity"),
    [
        ("2.10", "2.11.0+cu128", "warning"),
        ("2.10", "2.12.0+cu126", "warning"),
        ("2.10", "2.13.0+cu126", None),
        ("2.9", "2.10.0", None),
        ("2.11", "2.10.0", None),
    ],
)
def test_only_what_was_measured_to_load_is_a_warning(
    ask: Any, built: str, running: str, severity: str | None
) -> None:
    facts = {"torch.version": running, "flash_attn.wheel.file": built_for(built)}
    judgement = ask(CHECK, facts)
    assert (judgement.outcome, judgement.severity) == ("fail", severity)


def test_minors_are_no_decimal_numbers(ask: Any) -> None:
    facts = {"torch.version": "2.1.0+cu121", "flash_attn.wheel.file": built_for("2.10")}
    assert ask(CHECK, facts).detail == (
        "flash-attn 2.8.3 was built for torch 2.10, torch 2.1 is installed."
    )


def test_a_vendor_build_counts_as_its_release(ask: Any) -> None:
    facts = {
        "torch.version": "2.8.0a0+34c6371d24.nv25.8",
        "flash_attn.wheel.file": built_for("2.8"),
    }
    assert ask(CHECK, facts).outcome == "pass"


@pytest.mark.parametrize(
    ("wheel", "running", "outcome", "severity"),
    [
        ("2.5.7+cu122torch2.3cxx11abiFALSE", "2.3.0+cu121", "fail", None),
        ("2.5.8+cu122torch2.3cxx11abiFALSE", "2.3.0+cu121", "pass", None),
        ("2.5.8+cu122torch2.2cxx11abiFALSE", "2.2.0+cu121", "fail", None),
        ("2.5.8+cu122torch2.2cxx11abiFALSE", "2.2.2+cu121", "pass", None),
        ("2.5.0+cu122torch2.2cxx11abiTRUE", "2.2.0a0+81ea7a4", "pass", None),
        ("2.5.0+cu122torch2.2cxx11abiFALSE", "2.2.0+cu121", "fail", "warning"),
        ("2.7.2.post1+cu12torch2.6cxx11abiFALSE", "2.6.0+cu124", "fail", "warning"),
        ("2.7.2.post1+cu126torch2.6", "2.6.0+cu124", "pass", None),
    ],
)
def test_official_wheels_were_built_against_one_very_torch(
    ask: Any, wheel: str, running: str, outcome: str, severity: str | None
) -> None:
    file = f"flash_attn-{wheel}-cp310-cp310-linux_x86_64.whl"
    judgement = ask(CHECK, {"torch.version": running, "flash_attn.wheel.file": file})
    assert (judgement.outcome, judgement.severity) == (outcome, severity)
