from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.nvidia_smi_list import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads((PASTES / "nvidia_smi_list.json").read_text(encoding="utf-8"))
FRAGMENTS = (
    "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-<uuid>)",
    "GPU 1: TITAN X (Pascal) (UUID: x)",
    "  MIG 1g.10gb     Device  0: (UUID: MIG-<uuid>)",
    "(UUID: ",
    "GPU 0: ",
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


def test_a_name_in_brackets_stays_whole(stated: Stated) -> None:
    found = stated(PARSER, "GPU 0: TITAN X (Pascal) (UUID: GPU-<uuid>)")
    assert (found["gpu.name"], found["gpu.count"]) == ("TITAN X (Pascal)", 1)


def test_a_list_that_starts_again_is_another(stated: Stated) -> None:
    row = "GPU 0: Tesla T4 (UUID: GPU-<uuid>)\n"
    assert stated(PARSER, row + row)["gpu.count"] == 1


def test_slices_are_counted(stated: Stated) -> None:
    gpu = "GPU 0: NVIDIA A30 (UUID: GPU-<uuid>)\n"
    parts = "".join(f"  MIG 1g.6gb      Device  {n}: (UUID: MIG-<uuid>)\n" for n in range(4))
    found = stated(PARSER, gpu + parts)
    assert found["gpu.devices"][0]["mig_instances"] == 4
    assert found["gpu.mig_enabled"] is True
