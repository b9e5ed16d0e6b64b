from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.lspci import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads((PASTES / "lspci.json").read_text(encoding="utf-8"))
FRAGMENTS = (
    "01:00.0 VGA compatible controller: NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)",
    "\tKernel driver in use: ",
    "nvidia",
    "nouveau",
    "05:00.0 Bridge: NVIDIA Corporation GH100 [H100 NVSwitch]",
    "NVIDIA Corporation",
    "3D controller: ",
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


def test_an_address_is_counted_once(stated: Stated) -> None:
    line = (
        "01:00.0 VGA compatible controller: NVIDIA Corporation AD102 [GeForce RTX 4090] (rev a1)\n"
    )
    assert stated(PARSER, line + line)["gpu.pci_count"] == 1


def test_the_driver_of_another_device_is_not_the_gpus(stated: Stated) -> None:
    text = (
        "01:00.0 VGA compatible controller: NVIDIA Corporation AD102 [GeForce RTX 4090]\n"
        "02:00.0 Non-Volatile memory controller: Samsung\n"
        "	Kernel driver in use: nvme\n"
    )
    assert "driver.claimed_by" not in stated(PARSER, text)


def test_a_device_without_a_name(stated: Stated) -> None:
    line = "01:00.0 3D controller: NVIDIA Corporation Device 2b85 (rev a1)"
    assert stated(PARSER, line) == {"gpu.pci_count": 1}


def test_a_variant_is_left_out_of_the_name(stated: Stated) -> None:
    line = "01:00.0 3D controller: NVIDIA Corporation GA1 [GeForce RTX 3060 Ti Lite Hash Rate]"
    assert stated(PARSER, line)["gpu.name"] == "GeForce RTX 3060 Ti"
