from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor import pipeline
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import known
from flashdoctor.model.versions import Capability
from flashdoctor.resolve.machine import Machine, is_outside, read_machine

ReadMachine = Callable[..., Machine]


def test_packages_stay_out_of_the_machine(machine: ReadMachine) -> None:
    found = machine("gpu=H100", "driver=550", "torch=2.8.0+cu128", "vllm=0.10.2")
    assert "torch.version" not in found.facts
    assert found.installed.value("vllm.torch_pin") == "==2.8.0"
    assert found.facts.value("driver.cuda") == "12.4"
    assert (found.driver, found.glibc, found.python_tag) == ("550", "2.35", "cp312")
    assert found.gpu == "H100 (9.0)"


def test_usual_values_stand_in_for_what_nobody_stated() -> None:
    found = read_machine(pipeline.assume(["compute_capability=8.9"]), pipeline.tables())
    assert (found.python, found.python_is_stated, found.platform) == ("3.12", False, "linux_x86_64")
    assert found.gpu == "a GPU of compute capability 8.9"
    assert (found.driver, found.glibc) == (None, None)


def test_the_platform_follows_from_the_system() -> None:
    facts = pipeline.assume(["gpu=H100", "os=Windows 11"])
    assert read_machine(facts, pipeline.tables()).platform == "win_amd64"


def test_every_kind_of_visible_gpu_counts() -> None:
    devices = [
        {"index": 0, "name": "NVIDIA A100", "compute_capability": "8.0"},
        {"index": 1, "name": "Tesla T4", "compute_capability": "7.5", "visible": False},
        {"index": 2, "name": "NVIDIA H100", "compute_capability": "9.0"},
        {"index": 3, "name": "NVIDIA H100", "compute_capability": "9.0"},
    ]
    facts = snapshots.of([known("gpu.devices", devices, "NVML")])
    found = read_machine(facts, pipeline.tables())
    assert found.capabilities == (Capability(8, 0), Capability(9, 0))


@pytest.mark.parametrize(
    ("facts", "cuda", "floor"),
    [
        (("driver=535",), "12.8", None),
        (("driver=535",), "13.0", "580.65.06"),
        (("driver=525.53",), "12.8", "525.60.13"),
        (("driver=528.24", "wsl=2"), "12.8", "528.33"),
        (("driver.cuda=12.4",), "13.0", "580.65.06"),
        (("driver.cuda=12.4",), "12.8", None),
        ((), "13.0", None),
    ],
)
def test_a_driver_that_is_too_old_gives_the_floor(
    machine: ReadMachine, facts: tuple[str, ...], cuda: str, floor: str | None
) -> None:
    assert machine("gpu=RTX 4090", *facts).driver_floor(cuda) == floor


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        (("gpu=Orin",), "Jetson"),
        (("gpu=AMD Instinct MI300X",), "NVIDIA GPUs only"),
        (("compute_capability=9.0", "platform=macosx_14_0_arm64"), "macOS"),
    ],
)
def test_what_no_table_covers(machine: ReadMachine, facts: tuple[str, ...], word: str) -> None:
    reason = is_outside(machine(*facts))
    assert reason is not None
    assert word in reason
    assert is_outside(machine("gpu=H100")) is None
