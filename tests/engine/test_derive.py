from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.engine.derive import derive
from flashdoctor.model.facts import known, unknown
from flashdoctor.model.snapshot import Snapshot, of


def follow(facts: dict[str, Any]) -> Snapshot:
    return derive(of(known(path, facts[path], "a test") for path in facts), load_tables())


@pytest.mark.parametrize(
    ("torch", "pin"),
    [("2.7.0", "==3.3.0"), ("2.7.1+cu126", "==3.3.1"), ("2.9.0+cu128", "==3.5.0")],
)
def test_a_release_has_its_own_pin(torch: str, pin: str) -> None:
    assert follow({"torch.version": torch}).value("torch.triton_pin") == pin


def test_a_patch_that_the_tables_lack_takes_the_newest_of_its_minor() -> None:
    assert follow({"torch.version": "2.7.5+cu126"}).value("torch.triton_pin") == "==3.3.1"


@pytest.mark.parametrize(
    ("facts", "targets"),
    [
        ({"torch.version": "2.8.0+cu129", "os.platform": "linux_aarch64"}, "80 90 100 120"),
        ({"torch.version": "2.13.0+cu126", "os.platform": "linux_aarch64"}, "80 90"),
        ({"torch.version": "2.6.0+cu126", "os.platform": "linux_aarch64"}, "90"),
        ({"torch.version": "2.11.0", "os.platform": "linux_aarch64"}, "80 90 100 110 120"),
        ({"torch.version": "2.10.0+cu126"}, "50 60 70 75 80 86 90"),
    ],
)
def test_targets_are_those_of_the_machine(facts: dict[str, Any], targets: str) -> None:
    found = follow(facts).value("torch.arch_list")
    assert [target.removeprefix("sm_") for target in found] == targets.split()


def test_an_aarch64_variant_that_was_not_built_has_no_targets() -> None:
    facts = {"torch.version": "2.8.0+cu126", "os.platform": "linux_aarch64"}
    assert follow(facts)["torch.arch_list"].state == "unknown"


def test_what_torch_saw_stands_in_for_a_driver_that_did_not_say() -> None:
    seen = [
        known("live.capability", "9.0", "torch"),
        unknown("gpu.compute_capability", "no NVML", "NVML"),
    ]
    snapshot = derive(of(seen), load_tables())
    assert snapshot.value("gpu.compute_capability") == "9.0"
    assert snapshot.value("gpu.compute_capabilities") == ["9.0"]


def test_a_vllm_without_a_wheel_for_the_machine_has_no_known_targets() -> None:
    arm = {"os.platform": "linux_aarch64"}
    assert follow({"vllm.version": "0.6.6", **arm})["vllm.sass"].state == "unknown"
    assert follow({"vllm.version": "0.19.1", **arm}).value("vllm.sass")
    assert follow({"vllm.version": "0.6.6"}).value("vllm.sass")


@pytest.mark.parametrize(
    "facts",
    [
        {"gpu.name": "A100", "torch.version": "2.9.1+cu130", "driver.version": "580.95.05"},
        {"gpu.name": "NVIDIA Thor", "torch.version": "2.9.1+cu128", "vllm.version": "0.20.2"},
        {"torch.version": "2.9.0.dev20250801+cu128", "os.distribution": "Windows 11"},
    ],
)
def test_nothing_more_follows_the_second_time(facts: dict[str, Any]) -> None:
    once = follow(facts)
    assert derive(once, load_tables()).facts == once.facts


def test_each_gpu_of_a_list_gets_the_capability_that_its_name_tells() -> None:
    devices = [
        {"index": 0, "name": "NVIDIA GeForce RTX 3090"},
        {"index": 1, "name": "Tesla T4"},
        {"index": 2, "name": "NVIDIA A30", "compute_capability": "9.9"},
    ]
    snapshot = follow({"gpu.devices": devices, "gpu.name": "NVIDIA GeForce RTX 3090"})
    found = [device.get("compute_capability") for device in snapshot.value("gpu.devices")]
    assert found == ["8.6", "7.5", "9.9"]
    assert snapshot.value("gpu.compute_capabilities") == ["8.6", "7.5", "9.9"]
    assert derive(snapshot, load_tables()) == snapshot


def test_a_list_with_a_gpu_that_no_table_knows_says_nothing_of_all() -> None:
    devices = [{"index": 0, "name": "Tesla T4"}, {"index": 1, "name": "Riva 128"}]
    snapshot = follow({"gpu.devices": devices, "gpu.name": "Tesla T4"})
    assert snapshot.value("gpu.compute_capabilities") == ["7.5"]
    assert "compute_capability" not in snapshot.value("gpu.devices")[1]


NGC = "nvcr.io/nvidia/pytorch:25.03-py3"


def test_an_ngc_image_stands_for_its_versions() -> None:
    found = follow({"launch.image": NGC})
    assert found.value("torch.version") == "2.7.0a0+7c8ec84dab"
    assert (found.value("torch.cuda"), found.value("torch.build")) == ("12.8", "cuda")
    assert (found.value("toolkit.version"), found.value("python.tag")) == ("12.8", "cp312")
    assert found["torch.version"].source == f"container image {NGC}"


def test_a_torch_that_was_put_into_the_image_stands() -> None:
    found = follow({"launch.image": NGC, "torch.version": "2.6.0+cu124"})
    assert (found.value("torch.version"), found.value("torch.cuda")) == ("2.6.0+cu124", "12.4")


@pytest.mark.parametrize(
    "image", ["nvcr.io/nvidia/pytorch:99.01-py3", "my-nvidia/pytorch:25.03-py3", "ubuntu:24.04"]
)
def test_an_image_without_a_row_says_nothing(image: str) -> None:
    assert follow({"launch.image": image})["torch.version"].state == "unknown"


@pytest.mark.parametrize("version", ["0.10.0+cpu", "0.11.0+rocm700"])
def test_a_vllm_for_another_device_is_not_the_cuda_wheel(version: str) -> None:
    assert follow({"vllm.version": version})["vllm.torch_pin"].state == "unknown"
