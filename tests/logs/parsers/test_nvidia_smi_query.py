from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.nvidia_smi_query import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"
EXPECTED: dict[str, Any] = json.loads(
    (PASTES / "nvidia_smi_query.json").read_text(encoding="utf-8")
)
FRAGMENTS = (
    "==============NVSMI LOG==============",
    "Driver Version    : 550.90",
    "CUDA Version : 12.4",
    "Attached GPUs   : 1",
    "GPU 00000000:00:06.0",
    "    Product Name    : NVIDIA H200",
    "    FB Memory Usage",
    "        Total : 143771 MiB",
    "        Used  : 3 MiB",
    "    MIG Mode",
    "        Current : Enabled",
    "    Fabric",
    "        State : Completed",
    "    Processes",
    "        Process ID : 1",
    "            Name : x",
    " : N/A",
    "Unknown Error",
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


def test_the_header_of_610(stated: Stated) -> None:
    text = (
        "==============NVSMI LOG==============\n"
        "KMD Version                               : 610.57.04\n"
        "CUDA UMD Version                          : 13.3\n"
    )
    found = stated(PARSER, text)
    assert found == {"nvml.status": "ok", "driver.version": "610.57.04", "driver.cuda": "13.3"}


def test_a_gpu_that_answers_with_an_error(stated: Stated) -> None:
    text = (
        "Attached GPUs                             : 1\n"
        "GPU 00000000:1B:00.0\n"
        "    Product Name                          : GPU is lost\n"
    )
    found = stated(PARSER, text)
    assert (found["nvml.status"], found["nvml.error"]) == ("gpu-lost", "GPU is lost")
    assert "gpu.name" not in found


def test_a_fabric_that_failed(stated: Stated) -> None:
    text = (PASTES / "nvidia_smi_q_two_gpus.txt").read_text(encoding="utf-8")
    states = [device["fabric_state"] for device in stated(PARSER, text)["gpu.devices"]]
    assert states == ["completed", "completed-with-error"]


def test_entries_without_a_report_state_nothing(stated: Stated) -> None:
    assert stated(PARSER, "    Product Name : NVIDIA H200\n    Driver Version : 550.90") == {}
