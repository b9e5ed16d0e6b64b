from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.nvidia_smi_csv import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]


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
