from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.checks.host_compiler_incompatible import newest_gcc


@pytest.mark.parametrize(
    ("nvcc", "gcc"),
    [
        ("13.3", 15),
        ("13.0.2", 15),
        ("12.9", 14),
        ("12.8", 14),
        ("12.6.3", 13),
        ("12.4", 13),
        ("12.3", 12),
        ("12.0", 12),
        ("11.8", 11),
        ("11.4.1", 11),
        ("11.4", 10),
        ("11.0", 9),
        ("10.2", None),
    ],
)
def test_each_toolkit_has_a_newest_gcc(nvcc: str, gcc: int | None) -> None:
    assert newest_gcc(nvcc) == gcc


def test_the_fix_names_a_gcc_that_fits(ask: Any) -> None:
    facts = {
        "torch.version": "2.9.1+cu126",
        "flash_attn.version": None,
        "toolkit.version": "12.6",
        "os.compiler": "gcc 15.1.0",
        "os.compiler_version": "15.1.0",
    }
    judgement = ask("host-compiler-incompatible", facts, "flash-attn")
    assert judgement.values == {"advice.gcc": "13"}
    assert judgement.detail == "nvcc 12.6 takes gcc up to 13, the one on PATH is 15.1.0."
