from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.kernel_module import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads((PASTES / "kernel_module.json").read_text(encoding="utf-8"))
FRAGMENTS = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri",
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.86.15",
    "NVRM: API mismatch: the client has the version 570.124.06, but",
    "NVRM: this kernel module has the version 570.86.15.",
    "filename:  /lib/modules/6.8/nvidia.ko",
    "version:   570.124.06",
    "license:   NVIDIA",
    "nvidia  56365056  2",
    "nouveau  2306048  4",
    "nvidia/550.54, 6.5, x86_64: installed",
    "modinfo nvidia",
    "modprobe: FATAL: Module nvidia not found",
    " ",
)
LINES = st.lists(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=12)).map("".join))


@pytest.mark.parametrize("name", EXPECTED)
def test_a_captured_output_gives_exactly_these_facts(name: str, entries: Entries) -> None:
    text = (PASTES / name).read_text(encoding="utf-8")
    assert entries(PARSER, text) == EXPECTED[name]


@given(LINES)
def test_any_text_is_survived(
    survive: Callable[[Parser, list[str]], None], lines: list[str]
) -> None:
    survive(PARSER, lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nouveau             2306048  4", {"driver.claimed_by": "nouveau"}),
        ("nouveau             2306048  0", {}),
        ("nvidia, 470.57.02, 5.4.0-80-generic, x86_64: installed", {"driver.version": "470.57.02"}),
        ("nvidia-open/580.65.06, 6.14.0, x86_64: installed",
         {"driver.version": "580.65.06", "driver.module_flavor": "open"}),
        ("modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0",
         {"driver.module_loaded": False}),
        ("$ modinfo -F license nvidia\nNVIDIA", {"driver.module_flavor": "proprietary"}),
        ("filename:       /lib/modules/6.8/kernel/sound/snd.ko\nlicense:        Dual MIT/GPL", {}),
        ("license:        Dual MIT/GPL", {}),
        ("Successfully installed nvidia-cublas-cu12-12.4.5.8", {}),
    ],
)  # fmt: skip
def test_what_the_tools_say(text: str, expected: dict[str, Any], stated: Stated) -> None:
    assert stated(PARSER, text) == expected


def test_modinfo_is_forgotten_after_a_while(stated: Stated) -> None:
    text = "$ modinfo nvidia\n" + "alias: x\n" * 40 + "version:        570.124.06"
    assert stated(PARSER, text) == {}
