from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.nvidia_smi_list import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]


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
