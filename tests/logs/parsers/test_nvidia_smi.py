from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.nvidia_smi import PARSER
from flashdoctor.model.log import Line

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]


HEADER = "| NVIDIA-SMI 550.90.07    Driver Version: 550.90.07   CUDA Version: 12.4 |\n"


@pytest.mark.parametrize(
    ("text", "status", "error"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch", "version-mismatch",
         "Driver/library version mismatch"),
        ("Failed to initialize NVML: Unknown Error", "unknown-error", "Unknown Error"),
        ("Failed to initialize NVML: could not load NVML library.", "library-not-found",
         "could not load NVML library"),
        ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.", "library-not-found",
         "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system"),
        ("Unable to determine the device handle for GPU 0000:0B:00.0: GPU is lost.", "gpu-lost",
         "GPU is lost"),
        ("Failed to initialize NVML: Insufficient Permissions", "no-permission",
         "Insufficient Permissions"),
    ],
)  # fmt: skip
def test_an_error_instead_of_a_table(text: str, status: str, error: str, stated: Stated) -> None:
    assert stated(PARSER, text) == {"nvml.status": status, "nvml.error": error}


def test_no_devices_is_an_answer_of_a_driver_that_works(stated: Stated) -> None:
    found = stated(PARSER, "No devices were found")
    assert (found["nvml.status"], found["gpu.count"]) == ("ok", 0)


@pytest.mark.parametrize(
    "row",
    [
        "|   0  Tesla T4            On   | 00000000:00:1E.0 Off |                    0 |",
        "| 0 Tesla T4 On | 00000000:00:1E.0 Off | 0 |",
        "0  Tesla T4    On   | 00000000:00:1E.0 Off |        0 |",
        "|   0  Tesla T4           WDDM  |   00000000:00:1E.0  On |                  N/A |",
    ],
)
def test_a_row_in_any_spacing(row: str, stated: Stated) -> None:
    found = stated(PARSER, HEADER + row)
    assert (found["gpu.name"], found["gpu.count"]) == ("Tesla T4", 1)


def test_a_name_that_was_cut_is_only_a_mention(entries: Entries) -> None:
    row = "|   0  NVIDIA A100-SXM...  Off  | 00000000:00:1E.0 Off |                    0 |"
    found = entries(PARSER, HEADER + row)
    assert found["gpu.name"] == [2, 1, "NVIDIA A100"]
    assert found["gpu.count"] == [2, 3, 1]


def test_a_name_that_was_cut_to_the_brand_is_none(stated: Stated) -> None:
    row = "|   0  NVIDIA GeForce ...  Off  | 00000000:00:1E.0 Off |                  N/A |"
    assert "gpu.name" not in stated(PARSER, HEADER + row)


def test_a_lost_gpu_has_no_name(stated: Stated) -> None:
    row = "|   0  ERR!                ERR! | 00000000:00:1E.0 ERR! |                 ERR! |"
    found = stated(PARSER, HEADER + row)
    assert "gpu.name" not in found
    assert found["gpu.count"] == 1


@pytest.mark.parametrize("shown", ["ERR!", "N/A"])
def test_a_cuda_version_that_is_not_there_is_unknown(shown: str) -> None:
    feed = PARSER.start()
    text = f"| NVIDIA-SMI 545.46   Driver Version: 545.46   CUDA Version: {shown} |"
    [cuda] = [one for one in feed.feed(Line(1, text)) if one.fact.path == "driver.cuda"]
    assert cuda.fact.state == "unknown"
    assert shown in cuda.fact.reason


def test_two_tables_are_two(stated: Stated) -> None:
    row = "|   0  {}            On   | 00000000:00:1E.0 Off |                    0 |\n"
    text = HEADER + row.format("Tesla T4") + "\nand the other one:\n" + row.format("Tesla P4")
    found = stated(PARSER, text)
    assert (found["gpu.name"], found["gpu.count"]) == ("Tesla T4", 1)


def test_a_process_list_of_old_drivers(stated: Stated) -> None:
    row = "|   0  Tesla T4            On   | 00000000:00:1E.0 Off |                    0 |\n"
    processes = (
        "| Processes:                                                       GPU Memory |\n"
        "|  GPU       PID   Type   Process name                             Usage      |\n"
        "|    0      4935    C+G   /usr/bin/python                              543MiB |\n"
    )
    found = stated(PARSER, HEADER + row + processes)
    assert found["gpu.processes"] == [{"gpu": 0, "name": "python", "used_mib": 543}]


def test_a_mention_of_the_program_states_nothing(stated: Stated) -> None:
    text = "nvidia-smi shows CUDA 12.4 and everything looks fine | 0 MiB"
    assert stated(PARSER, text) == {}
