from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.checks._gpus import named, runs_on, visible_gpus
from flashdoctor.engine.view import MissingFactError
from flashdoctor.model.versions import Capability


def test_hidden_gpus_do_not_count(look: Any) -> None:
    devices = [
        {"index": 0, "name": "NVIDIA L4", "compute_capability": "8.9", "visible": True},
        {"index": 1, "name": "Tesla T4", "compute_capability": "7.5", "visible": False},
    ]
    assert named(visible_gpus(look({"gpu.devices": devices}))) == "NVIDIA L4 (8.9)"


def test_several_gpus_of_a_kind_are_named_once(look: Any) -> None:
    device = {"index": 0, "name": "NVIDIA L4", "compute_capability": "8.9"}
    assert named(visible_gpus(look({"gpu.devices": [device, device]}))) == "NVIDIA L4 (8.9)"


def test_a_gpu_without_a_capability_is_no_ground_for_a_judgement(look: Any) -> None:
    with pytest.raises(MissingFactError):
        visible_gpus(look({"gpu.devices": [{"index": 0, "name": "a GPU of tomorrow"}]}))
    with pytest.raises(MissingFactError):
        visible_gpus(look({"gpu.name": None}))


@pytest.mark.parametrize(
    ("sass", "ptx", "capability", "runs"),
    [
        (["sm_80"], [], Capability(8, 9), True),
        (["sm_86"], [], Capability(8, 0), False),
        (["sm_90a"], [], Capability(9, 0), True),
        (["sm_100"], [], Capability(10, 3), True),
        (["sm_120"], [], Capability(12, 1), True),
        (["sm_90"], [], Capability(12, 0), False),
        (["sm_90"], ["compute_90"], Capability(12, 0), True),
        (["sm_80"], [], Capability(8, 7), False),
        (["sm_87"], [], Capability(8, 7), True),
        (["sm_87"], [], Capability(8, 9), False),
        (["sm_80"], ["compute_80"], Capability(8, 7), True),
        ([], [], Capability(8, 0), False),
    ],
)
def test_machine_code_runs_within_its_major_but_not_between_desktop_and_tegra(
    sass: list[str], ptx: list[str], capability: Capability, runs: bool
) -> None:
    assert runs_on(sass, ptx, capability) is runs
