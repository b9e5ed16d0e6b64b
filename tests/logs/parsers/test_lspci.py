from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.lspci import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]


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
