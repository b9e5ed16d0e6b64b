from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.nvidia_smi_csv import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads((PASTES / "nvidia_smi_csv.json").read_text(encoding="utf-8"))
FRAGMENTS = (
    "$ nvidia-smi --query-gpu=name,driver_version --format=csv",
    "--query-gpu=",
    "name",
    "driver_version",
    "compute_cap",
    "memory.total [MiB]",
    ", ",
    "NVIDIA A100",
    "550.90.07",
    "8.0",
    "81920 MiB",
    "[N/A]",
    "--query-compute-apps=pid,process_name",
    "1, python",
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
        ("$ nvidia-smi --query-gpu=name --format=csv\nname\nNVIDIA T4\nNVIDIA T4\nPython 3.11",
         {"gpu.name": "NVIDIA T4", "gpu.count": 2}),
        ("nvidia-smi --query-gpu=compute_cap --format=csv,noheader\n8.9\n8.9",
         {"gpu.compute_capability": "8.9", "gpu.compute_capabilities": ["8.9", "8.9"]}),
        ("compute_cap\n12.0\n", {"gpu.compute_capability": "12.0"}),
        ("name, compute_cap\nOrin (nvgpu), 8.7", {"gpu.name": "Orin (nvgpu)"}),
        ("driver_version, name\n535.54, Tesla V100", {"driver.version": "535.54"}),
        ("nvidia-smi --query-gpu='name,memory.used'\n\nname, memory.used [MiB]\nNVIDIA L4, [N/A]",
         {"gpu.name": "NVIDIA L4"}),
    ],
)  # fmt: skip
def test_any_order_of_columns(text: str, expected: dict[str, Any], stated: Stated) -> None:
    found = stated(PARSER, text)
    assert {path: found.get(path) for path in expected} == expected


@pytest.mark.parametrize(
    "text",
    [
        "name, city\nNVIDIA T4, Berlin",
        "name, compute_cap\nnobody, 7.5",
        "name, compute_cap\nNVIDIA T4, seven",
        'nvidia-smi --query-gpu=name --format=csv\nname\nField "x" is not a valid field to query.',
    ],
)
def test_other_lists_state_nothing(text: str, stated: Stated) -> None:
    assert stated(PARSER, text) == {}


def test_the_list_ends_with_what_is_no_row(stated: Stated) -> None:
    text = "name, compute_cap\nNVIDIA T4, 7.5\nand then\nNVIDIA L4, 8.9"
    assert stated(PARSER, text)["gpu.count"] == 1
