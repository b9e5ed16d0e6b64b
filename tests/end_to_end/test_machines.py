"""Whole machines under a torch from the package index: the root cause, and the exit code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

SCENES = Path(__file__).resolve().parents[1] / "data" / "nvml"


def scene(name: str, changes: Mapping[str, str]) -> str:
    """Return a scene's text with some of its statements replaced."""
    text = (SCENES / f"{name}.txt").read_text(encoding="utf-8")
    for key, value in changes.items():
        text, count = re.subn(rf"^{key} .*$", f"{key} {value}", text, flags=re.MULTILINE)
        assert count, key
    return text


# A card, what is changed about its machine, a torch; the causes of all errors, the root first.
STACKS: list[tuple[str, dict[str, str], str, list[str]]] = [
    ("v100", {}, "2.7.1+cu126", []),
    ("v100", {"driver": "580.95.05", "cuda": "13000"}, "2.11.0+cu130",
     ["gpu-arch-not-in-torch-wheel"]),
    ("v100", {}, "2.11.0+cu130", ["gpu-arch-not-in-torch-wheel", "driver-too-old-for-cuda"]),
    ("t4", {}, "2.7.1+cu126", []),
    ("a100_mig", {}, "2.7.1+cu126", []),
    ("rtx4090", {}, "2.7.1+cu126", []),
    ("rtx4090", {"driver": "520.61.05", "cuda": "11080"}, "2.7.1+cu126",
     ["driver-too-old-for-cuda"]),
    ("l40s", {}, "2.9.1+cu130", []),
    ("h200", {}, "2.7.1+cu126", []),
    ("h200", {"driver": "535.161.07", "cuda": "12020"}, "2.9.1+cu130",
     ["driver-too-old-for-cuda"]),
    ("h100x8", {"fabric": "3 0"}, "2.8.0+cu128", []),
    ("h100x8", {}, "2.8.0+cu128", ["fabric-manager-not-running"]),
    ("b200", {"fabric": "3 0"}, "2.7.1+cu128", []),
    ("b200", {"fabric": "3 0"}, "2.7.1+cu126", ["gpu-arch-not-in-torch-wheel"]),
    ("rtx5090", {}, "2.7.1+cu128", []),
    ("rtx5090", {}, "2.6.0+cu124", ["gpu-arch-not-in-torch-wheel"]),
    ("gb10", {}, "2.9.1+cu130", []),
    ("gb10", {}, "2.7.1+cu126", ["gpu-arch-not-in-torch-wheel"]),
    ("mixed", {}, "2.7.1+cu126", []),
]  # fmt: skip


@pytest.mark.parametrize(("card", "changes", "torch", "errors"), STACKS)
def test_a_card_under_a_torch(
    command: Any, rig: Any, target: Any, *, card: str, changes: dict[str, str], torch: str,
    errors: list[str],
) -> None:  # fmt: skip
    target.torch(torch, abi=torch != "2.6.0+cu124")
    machine = rig(scene(card, changes), closed=card == "v100")
    done = command.check(rig=machine, target=target)
    assert done.errors == errors
    assert done.code == (1 if errors else 0)
    assert done.verdict == ("fail" if errors else "pass")
    assert done.state("gpu.compute_capability") == "known"


# A scene in which NVML gives no usable answer; the cause that is named for it, None for none.
SILENT = [
    ("version_mismatch", "nvml-driver-library-mismatch"),
    ("no_permission", "torch-cuda-unavailable"),
    ("blocked", "torch-cuda-unavailable"),
    ("hang_init", "gpu-hardware-or-init-failure"),
    ("hang_memory", "gpu-hardware-or-init-failure"),
    ("gpu_lost", "gpu-hardware-or-init-failure"),
    ("none", "gpu-hardware-or-init-failure"),
    ("unknown_error", None),
    ("crash", None),
    ("no_library", None),
]


@pytest.mark.parametrize(("name", "cause"), SILENT)
def test_an_nvml_that_does_not_serve_never_passes(
    command: Any, rig: Any, target: Any, name: str, cause: str | None
) -> None:
    target.torch()
    settings = {"gpu_s": 2.0} if "hang" in name else {}
    done = command.check(rig=rig(name), target=target, settings=settings)
    assert (done.verdict, done.code) == (("fail", 1) if cause else ("undetermined", 3))
    assert done.errors == ([cause] if cause else [])
    if not cause:
        assert done.report["missing"] == ["gpu.compute_capability"]
        assert done.value("nvml.error")


def test_nvml_and_nvidia_smi_that_hang_cost_five_seconds_together(
    command: Any, rig: Any, target: Any, nvidia_smi_stub: Any
) -> None:
    target.torch()
    machine = rig("hang_init")
    done = command.check(rig=machine, target=target, environ=nvidia_smi_stub({"": "HANG"}))
    assert done.errors == ["gpu-hardware-or-init-failure"]
    assert done.value("nvml.status") == "timeout"
    assert 4 < done.seconds < 15


@pytest.mark.parametrize("name", ["version_mismatch", "no_permission", "crash", "none"])
def test_the_same_on_this_machine(command: Any, nvml_stub: Any, target: Any, name: str) -> None:
    target.torch()
    done = command.check(environ=nvml_stub(name), target=target)
    assert done.code in {1, 3}
    assert done.verdict in {"fail", "undetermined"}


def test_a_machine_without_a_gpu(command: Any, machine: Callable[..., Path], target: Any) -> None:
    target.torch()
    done = command.check(settings={"root": str(machine())}, target=target)
    assert (done.code, done.errors) == (1, ["no-nvidia-gpu"])


def test_a_driver_that_was_not_loaded(
    command: Any, machine: Callable[..., Path], target: Any, nvml_stub: Any
) -> None:
    target.torch()
    root = machine(displays=1)
    done = command.check(
        settings={"root": str(root)}, environ=nvml_stub("driver_not_loaded"), target=target
    )
    assert done.code == 1
    assert done.errors[0] == "nvidia-kernel-module-not-loaded"


def test_blackwell_under_the_proprietary_module(command: Any, rig: Any, target: Any) -> None:
    target.torch("2.7.1+cu128")
    done = command.check(rig=rig("rtx5090", closed=True), target=target)
    assert (done.code, done.errors) == (1, ["gpu-hardware-or-init-failure"])
    assert done.findings[0]["name"] == "blackwell-needs-open-module"


@pytest.mark.parametrize(
    ("value", "errors"),
    [
        ("0", []),
        ("MIG-00000001-0002-0000-0000-000000000000", []),
        ("GPU-00000002", []),
        ("", ["cuda-visible-devices-invalid"]),
        ("7", ["cuda-visible-devices-invalid"]),
        ("GPU-ffffffff", ["cuda-visible-devices-invalid"]),
    ],
)
def test_what_cuda_visible_devices_leaves(
    command: Any, rig: Any, target: Any, value: str, errors: list[str]
) -> None:
    target.torch()
    environ = {"CUDA_VISIBLE_DEVICES": value}
    done = command.check(rig=rig("a100_mig"), target=target, environ=environ)
    assert (done.code, done.errors) == (int(bool(errors)), errors)
    assert done.value("gpu.visible_count") == int(not errors)


def test_a_slow_card_before_a_fast_one(command: Any, rig: Any, target: Any) -> None:
    target.torch("2.8.0+cu128")  # starts at sm_70: nothing for the first card
    done = command.check(rig=rig("mixed"), target=target)
    assert done.code == 0
    assert "gpu-arch-not-in-torch-wheel" in done.causes("warning")
    assert "mixed-gpus" in done.causes("info")


def test_a_card_before_ampere_fails_only_where_flash_attn_is_required(
    command: Any, rig: Any, target: Any
) -> None:
    target.torch().flash_attn("2.8.3+cu12torch2.7cxx11abiTRUE")
    machine = rig("t4")
    idle = command.check(rig=machine, target=target)
    assert (idle.code, idle.errors) == (0, [])
    needed = command.check("--require", "flash-attn", rig=machine, target=target)
    assert (needed.code, needed.errors) == (1, ["flash-attn-needs-ampere"])
