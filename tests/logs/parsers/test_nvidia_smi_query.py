from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.nvidia_smi_query import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]

PASTES = Path(__file__).parents[2] / "data" / "pastes"


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


def test_memory_of_a_mig_device_is_not_the_gpus(stated: Stated) -> None:
    text = (
        "Attached GPUs                             : 1\n"
        "GPU 00000000:1B:00.0\n"
        "    Product Name                          : NVIDIA H100 80GB HBM3\n"
        "    MIG Mode\n"
        "        Current                           : Enabled\n"
        "    MIG Device\n"
        "        Index                             : 0\n"
        "        FB Memory Usage\n"
        "            Total                         : 40448 MiB\n"
        "            Used                          : 298 MiB\n"
        "    FB Memory Usage\n"
        "        Total                             : 81559 MiB\n"
        "        Used                              : 30512 MiB\n"
        "    Compute Mode                          : Exclusive_Process\n"
    )
    found = stated(PARSER, text)
    assert (found["gpu.memory_mib"], found["gpu.memory_used_mib"]) == (40448, 298)
    (device,) = found["gpu.devices"]
    assert (device["memory_total_mib"], device["mig_instances"]) == (81559, 1)
    assert device["compute_mode"] == "exclusive-process"
