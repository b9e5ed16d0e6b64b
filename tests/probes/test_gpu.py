from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import Fact, by_path
from flashdoctor.probes.gpu import read_gpu

Stub = Callable[[str], dict[str, str]]
Smi = Callable[[Mapping[str, str]], dict[str, str]]
Machine = Callable[..., Path]
Recorded = Callable[[str], str]

HANG = "HANG"
FIRST = (
    "gpu.name",
    "gpu.compute_capability",
    "gpu.compute_capabilities",
    "gpu.memory_mib",
    "gpu.memory_used_mib",
    "gpu.mig_enabled",
)
OURS = {
    "nvml.status", "nvml.error", "driver.version", "driver.cuda", "driver.module_loaded",
    "driver.module_version", "driver.module_flavor", "gpu.count", "gpu.visible_count",
    "gpu.devices", "gpu.processes", "gpu.pci_count", "gpu.nvswitch", "gpu.visible_devices",
    "gpu.visible_invalid", *FIRST,
}  # fmt: skip


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Mapping[str, Fact]]:
    """Return a function that reads the facts of a played machine, and checks their form."""

    def read(
        environ: Mapping[str, str], root: Path | None = None, timeout_s: float = 30.0
    ) -> Mapping[str, Fact]:
        environ = {"PATH": "/nowhere", **environ}
        listed = read_gpu(environ, timeout_s, tmp_path / "nothing" if root is None else root)
        facts = by_path(listed)
        assert len(facts) == len(listed), "each fact once"
        assert set(facts) == OURS
        assert all(fact.source for fact in listed)
        assert all(fact.reason for fact in listed if fact.state == "unknown")
        allowed = {path: set(FACTS[path].keys) for path in ("gpu.devices", "gpu.processes")}
        for path, keys in allowed.items():
            assert all(set(record) <= keys for record in facts[path].value or [])
        json.dumps([fact.to_json() for fact in listed])
        return facts

    return read


Read = Callable[..., Mapping[str, Fact]]


def values(facts: Mapping[str, Fact], *paths: str) -> list[Any]:
    assert {facts[path].state for path in paths} == {"known"}
    return [facts[path].value for path in paths]


@pytest.mark.parametrize(
    ("scene", "expected"),
    [
        ("v100", ["Tesla V100-SXM2-32GB", "7.0", ["7.0"], 32768, 0, False]),
        ("t4", ["Tesla T4", "7.5", ["7.5"], 15360, 2117, False]),
        ("rtx4090", ["NVIDIA GeForce RTX 4090", "8.9", ["8.9"], 24564, 21034, False]),
        ("l40s", ["NVIDIA L40S", "8.9", ["8.9"], 46068, 0, False]),
        ("h100x8", ["NVIDIA H100 80GB HBM3", "9.0", ["9.0"] * 8, 81559, 70000, False]),
        ("h200", ["NVIDIA H200", "9.0", ["9.0"], 143771, 0, False]),
        ("b200", ["NVIDIA B200", "10.0", ["10.0"], 183359, 0, False]),
        ("rtx5090", ["NVIDIA GeForce RTX 5090", "12.0", ["12.0"], 32607, 1203, False]),
    ],
)
def test_the_first_visible_gpu(
    read: Read, nvml_stub: Stub, scene: str, expected: list[Any]
) -> None:
    facts = read(nvml_stub(scene))
    assert values(facts, *FIRST) == expected
    assert {facts[path].source for path in FIRST} == {"NVML"}
    assert values(facts, "nvml.status") == ["ok"]
    assert facts["nvml.error"].state == "absent"


def test_a_busy_desktop(read: Read, nvml_stub: Stub) -> None:
    facts = read(nvml_stub("rtx4090"))
    assert values(facts, "driver.version", "driver.cuda", "gpu.count", "gpu.visible_count") == [
        "560.35.03",
        "12.6",
        1,
        1,
    ]
    assert facts["gpu.devices"].value == [
        {
            "index": 0,
            "name": "NVIDIA GeForce RTX 4090",
            "compute_capability": "8.9",
            "memory_total_mib": 24564,
            "memory_used_mib": 21034,
            "mig_enabled": False,
            "pcie_generation": 4,
            "pcie_generation_max": 4,
            "pcie_width": 8,
            "pcie_width_max": 16,
            "throttle_reasons": ["power-cap", "sw-thermal"],
            "visible": True,
        }
    ]
    assert facts["gpu.processes"].value == [
        {"gpu": 0, "name": "python", "used_mib": 512},
        {"gpu": 0, "name": "VLLM::EngineCore", "used_mib": 20000},
        {"gpu": 0, "name": "Xorg", "used_mib": 310},
    ]
    said = json.dumps([fact.to_json() for fact in facts.values()])
    assert "somebody" not in said
    assert "secret" not in said
    assert "00000001-" not in said


def test_a_mig_device_has_its_own_memory(read: Read, nvml_stub: Stub) -> None:
    facts = read({**nvml_stub("a100_mig"), "CUDA_VISIBLE_DEVICES": "MIG-00000001-0002"})
    assert values(facts, *FIRST) == ["NVIDIA A100-SXM4-40GB", "8.0", ["8.0"], 9856, 12, True]
    assert values(facts, "gpu.count", "gpu.visible_count") == [2, 1]
    assert [device["visible"] for device in facts["gpu.devices"].value] == [True, False]
    assert [device.get("mig_instances") for device in facts["gpu.devices"].value] == [2, None]
    assert facts["gpu.visible_devices"].value == "MIG-…"


def test_memory_that_is_not_reported_is_unknown(read: Read, nvml_stub: Stub) -> None:
    facts = read(nvml_stub("gb10"))
    assert values(facts, "gpu.name", "gpu.compute_capability") == ["NVIDIA GB10", "12.1"]
    for path in ("gpu.memory_mib", "gpu.memory_used_mib"):
        assert (facts[path].state, facts[path].reason) == ("unknown", "NVML: Not Supported")
    assert facts["gpu.processes"].value == [{"gpu": 0, "name": "ollama"}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,0", [2, "NVIDIA GeForce GTX 1080 Ti", []]),
        ("GPU-00000001", [1, "NVIDIA GeForce GTX 1080 Ti", []]),
        ("0,5,1", [1, "NVIDIA GeForce RTX 3090", ["5"]]),
        ("GPU-00000002,GPU-0000abcd", [1, "NVIDIA GeForce RTX 3090", ["GPU-…"]]),
    ],
)
def test_visible_devices(read: Read, nvml_stub: Stub, text: str, expected: list[Any]) -> None:
    facts = read({**nvml_stub("mixed"), "CUDA_VISIBLE_DEVICES": text})
    assert values(facts, "gpu.visible_count", "gpu.name", "gpu.visible_invalid") == expected
    assert facts["gpu.count"].value == 2


def test_the_order_of_unlike_gpus_is_called_a_guess(read: Read, nvml_stub: Stub) -> None:
    facts = read(nvml_stub("mixed"))
    assert facts["gpu.name"].value == "NVIDIA GeForce RTX 3090"
    assert facts["gpu.name"].source == "NVML; CUDA's order of unlike GPUs is a guess"
    assert facts["gpu.compute_capabilities"].value == ["8.6", "6.1"]
    by_bus = read({**nvml_stub("mixed"), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    assert by_bus["gpu.name"].value == "NVIDIA GeForce GTX 1080 Ti"
    assert by_bus["gpu.name"].source == "NVML"


@pytest.mark.parametrize("text", ["", "-1", "7", "GPU-0000abcd-0000"])
def test_a_variable_that_hides_every_gpu(read: Read, nvml_stub: Stub, text: str) -> None:
    facts = read({**nvml_stub("h200"), "CUDA_VISIBLE_DEVICES": text})
    assert values(facts, "gpu.count", "gpu.visible_count") == [1, 0]
    for path in FIRST:
        assert (facts[path].state, facts[path].source) == ("absent", "CUDA_VISIBLE_DEVICES")
        assert "0000abcd" not in facts[path].reason
    assert facts["gpu.devices"].value[0]["visible"] is False


def test_the_variable_itself(read: Read, nvml_stub: Stub) -> None:
    unset = read(nvml_stub("h200"))
    assert unset["gpu.visible_devices"].state == "absent"
    assert unset["gpu.visible_invalid"].value == []
    twice = read({**nvml_stub("h200"), "CUDA_VISIBLE_DEVICES": "0,0"})
    assert values(twice, "gpu.visible_devices", "gpu.visible_invalid") == ["0,0", ["0"]]


@pytest.mark.parametrize(
    ("scene", "status"),
    [
        ("version_mismatch", "version-mismatch"),
        ("driver_not_loaded", "driver-not-loaded"),
        ("no_permission", "no-permission"),
        ("unknown_error", "unknown-error"),
        ("no_library", "library-not-found"),
        ("crash", "unknown-error"),
    ],
)
def test_an_nvml_that_fails_is_a_fact(
    read: Read, nvml_stub: Stub, machine: Machine, scene: str, status: str
) -> None:
    root = machine(displays=1, nodes=("nvidiactl", "nvidia0"), module="550.90.07")
    facts = read(nvml_stub(scene), root)
    assert values(facts, "nvml.status", "gpu.pci_count") == [status, 1]
    error = values(facts, "nvml.error")[0]
    for path in ("gpu.count", "gpu.visible_count", "gpu.devices", "gpu.processes", *FIRST):
        assert facts[path].state == "unknown"
        assert error in facts[path].reason
    assert facts["driver.version"].value == "550.90.07"


def test_the_module_gives_the_driver_version_where_nvml_cannot(
    read: Read, nvml_stub: Stub, machine: Machine
) -> None:
    proc = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"
    facts = read(nvml_stub("version_mismatch"), machine(displays=1, proc=proc))
    assert facts["driver.version"].value == "580.95.05"
    assert facts["driver.version"].source == "/proc/driver/nvidia/version"
    assert facts["driver.module_flavor"].value == "open"
    assert facts["driver.cuda"].state == "unknown"


def test_a_lost_gpu(read: Read, nvml_stub: Stub) -> None:
    facts = read(nvml_stub("gpu_lost"))
    assert values(facts, "nvml.status", "nvml.error") == ["gpu-lost", "GPU is lost"]
    assert values(facts, "gpu.count", "gpu.name") == [2, "NVIDIA H100 80GB HBM3"]
    assert facts["gpu.compute_capabilities"].state == "unknown"
    lost = read({**nvml_stub("gpu_lost"), "CUDA_VISIBLE_DEVICES": "1"})
    assert (lost["gpu.name"].state, lost["gpu.name"].reason) == ("unknown", "NVML: GPU is lost")


def test_a_hang_costs_no_more_than_its_time(
    read: Read, nvml_stub: Stub, nvidia_smi_stub: Smi
) -> None:
    environ = {**nvml_stub("hang_init"), **nvidia_smi_stub({"-q -x": HANG})}
    started = time.monotonic()
    facts = read(environ, timeout_s=2.0)
    assert time.monotonic() - started < 3.5
    assert facts["nvml.status"].value == "timeout"
    assert "nvidia-smi" in facts["gpu.count"].reason


def test_a_hang_in_a_later_call_keeps_the_rest(read: Read, nvml_stub: Stub) -> None:
    facts = read(nvml_stub("hang_memory"), timeout_s=3.0)
    assert values(facts, "nvml.status", "gpu.count", "gpu.name") == [
        "timeout",
        2,
        "NVIDIA H100 80GB HBM3",
    ]
    assert values(facts, "gpu.memory_mib", "driver.version") == [81559, "550.90.07"]
    assert facts["gpu.processes"].state == "unknown"


def test_nvidia_smi_where_nvml_is_of_no_use(
    read: Read, nvidia_smi_stub: Smi, recorded: Recorded
) -> None:
    xml = recorded("h200x2.xml")
    facts = read(nvidia_smi_stub({"-q -x": xml, "--query-gpu": "0, 9.0\n1, 9.0\n"}))
    assert facts["nvml.status"].value == "library-not-found", "as Python programs will find it"
    assert values(facts, "gpu.count", "driver.version", "driver.cuda") == [2, "580.159.04", "13.0"]
    assert values(facts, *FIRST) == ["NVIDIA H200", "9.0", ["9.0", "9.0"], 143771, 0, False]
    assert facts["gpu.name"].source == "nvidia-smi -q -x"
    assert facts["gpu.processes"].value == []


def test_the_plain_table_as_the_last_resort(
    read: Read, nvml_stub: Stub, nvidia_smi_stub: Smi, recorded: Recorded
) -> None:
    table = recorded("470_t4.txt")
    smi = nvidia_smi_stub({"-q -x": "no such option\n", "": table})
    facts = read({**nvml_stub("unknown_error"), **smi})
    assert values(facts, "nvml.status", "gpu.name", "gpu.memory_mib", "driver.version") == [
        "unknown-error",
        "Tesla T4",
        15109,
        "470.57.02",
    ]
    assert facts["gpu.compute_capability"].state == "unknown"
    assert facts["gpu.processes"].state == "unknown"


def test_nvidia_smi_names_the_failure_better(
    read: Read, nvidia_smi_stub: Smi, machine: Machine
) -> None:
    words = "Failed to initialize NVML: Driver/library version mismatch\n"
    facts = read(nvidia_smi_stub({"-q -x": words}), machine(displays=1))
    assert values(facts, "nvml.status", "nvml.error") == [
        "version-mismatch",
        "Driver/library version mismatch",
    ]
    assert facts["nvml.status"].source == "nvidia-smi"


def test_a_machine_without_any_gpu(read: Read, machine: Machine) -> None:
    facts = read({}, machine())
    assert values(facts, "gpu.count", "gpu.visible_count", "gpu.pci_count") == [0, 0, 0]
    assert values(facts, "gpu.devices", "gpu.processes", "gpu.nvswitch") == [[], [], False]
    assert values(facts, "nvml.status") == ["library-not-found"]
    for path in (*FIRST, "driver.version", "driver.cuda", "driver.module_version"):
        assert facts[path].state == "absent"


@pytest.mark.parametrize(
    ("nodes", "displays"), [((), 1), (("nvidia0",), 0), (("dxg",), 0), (("nvhost-gpu",), 0)]
)
def test_a_sign_of_a_gpu_forbids_the_word_absent(
    read: Read, machine: Machine, nodes: tuple[str, ...], displays: int
) -> None:
    facts = read({}, machine(nodes=nodes, displays=displays))
    assert facts["gpu.count"].state == "unknown"
    assert {facts[path].state for path in FIRST} == {"unknown"}


def test_nothing_at_all_is_readable(read: Read) -> None:
    facts = read({})
    states = {path: fact.state for path, fact in facts.items()}
    assert states.pop("nvml.status") == states.pop("nvml.error") == "known"
    assert states.pop("gpu.visible_devices") == "absent"
    assert states.pop("gpu.visible_invalid") == "known"
    assert set(states.values()) == {"unknown"}


def test_a_driver_that_finds_no_gpu(read: Read, nvml_stub: Stub, machine: Machine) -> None:
    facts = read(nvml_stub("none"), machine())
    assert values(facts, "gpu.count", "gpu.visible_count", "driver.version") == [0, 0, "580.95.05"]
    assert {facts[path].state for path in FIRST} == {"absent"}


def test_a_driver_that_misses_a_gpu_of_the_bus(
    read: Read, nvml_stub: Stub, machine: Machine
) -> None:
    facts = read(nvml_stub("none"), machine(displays=1, nodes=("nvidiactl",)))
    assert facts["gpu.count"].value == 0
    assert facts["gpu.name"].state == "unknown"
    assert facts["gpu.name"].reason == "NVML lists no GPU, but: 1 on the PCI bus, /dev/nvidiactl"


@pytest.mark.parametrize(
    ("scene", "switches", "expected"),
    [("t4", 0, False), ("t4", 4, True), ("h100x8", 0, True), ("b200", 0, True), ("l40s", 0, False)],
)
def test_nvswitch(
    nvml_stub: Stub, machine: Machine, scene: str, switches: int, *, expected: bool
) -> None:
    facts = by_path(read_gpu(nvml_stub(scene), 30.0, machine(displays=1, switches=switches)))
    assert values(facts, "gpu.nvswitch", "gpu.pci_count") == [expected, 1]
