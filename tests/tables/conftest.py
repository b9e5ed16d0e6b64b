"""Matrices folders made for one test each."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from flashdoctor.data.tables import Tables

ROOT = Path(__file__).parents[2]

RULE = """
[[rule]]
id = "FD101"
name = "driver-too-old"
title = "The driver is older than this torch needs"
layer = "driver"
severity = "error"
basis = "documented"
when = { fact = "driver.version", op = "lt", ref = "torch.min_driver" }
fix = { text = "Update the driver.", commands = ["echo {torch.min_driver} {advice.index}"] }
source = [{ url = "NVIDIA CUDA Compatibility guide", checked = 2026-11-30 }]
[[rule.example]]
facts = { "driver.version" = "450.80.02", "torch.version" = "2.11.0" }
expect = "fail"
[[rule.example]]
facts = { "driver.version" = "610.43.02", "torch.version" = "2.11.0", "wsl.version" = "absent" }
expect = "pass"
require = ["vllm"]
"""


@pytest.fixture(scope="session")
def tables() -> Tables:
    """Return the tables of this checkout."""
    return Tables(ROOT / "matrices")


@pytest.fixture
def matrices(tmp_path: Path) -> Path:
    """Return a copy of the checkout's matrices without its rules."""
    copy = tmp_path / "matrices"
    shutil.copytree(ROOT / "matrices", copy, ignore=shutil.ignore_patterns("rules"))
    (copy / "rules").mkdir()
    return copy


@pytest.fixture
def with_rules(matrices: Path) -> Callable[..., Tables]:
    """Return a function that writes rules files, named r0, r1, ..., and gives their tables."""

    def write(*texts: str) -> Tables:
        for number, text in enumerate(texts):
            (matrices / "rules" / f"r{number}.toml").write_text(text, encoding="utf-8")
        return Tables(matrices)

    return write


@pytest.fixture
def rule() -> Callable[..., str]:
    """Return a function that gives one good rule as TOML, with pieces of its text replaced."""

    def text(**replaced: str) -> str:
        made = RULE
        for old, new in (pair.split(" => ") for pair in replaced.values()):
            assert old in made, old
            made = made.replace(old, new)
        return made

    return text
