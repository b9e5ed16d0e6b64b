from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.facts import Fact, by_path
from flashdoctor.probes.driver import PATHS, parse_modules, read_driver

Lay = Callable[[Mapping[str, str | bytes]], Path]
BUS = "/sys/bus/pci/devices"


def read(root: Path) -> Mapping[str, Fact]:
    facts = by_path(read_driver(root, {}))
    assert sorted(facts) == sorted(PATHS)
    return facts


def host(lay: Lay, *drivers: str, files: Mapping[str, str] | None = None) -> Path:
    """Lay a Linux host with one NVIDIA GPU for each driver named; empty: held by none."""
    root = lay({"/proc/sys/kernel/osrelease": "6.8.0-45-generic\n", **(files or {})})
    (root / BUS[1:]).mkdir(parents=True)
    for number, driver in enumerate(drivers):
        device = root / BUS[1:] / f"0000:0{number}:00.0"
        device.mkdir()
        (device / "vendor").write_text("0x10de\n")
        (device / "class").write_text("0x030000\n")
        if driver:
            (root / "sys/bus/pci/drivers" / driver).mkdir(parents=True, exist_ok=True)
            (device / "driver").symlink_to(f"../../drivers/{driver}")
    return root


@pytest.mark.parametrize(
    ("drivers", "value"),
    [
        (["nvidia", "nvidia"], "nvidia"),
        (["nouveau"], "nouveau"),
        (["nova_core"], "nova_core"),
        (["nvidia", "vfio-pci"], "nvidia, vfio-pci"),
        (["", "nvidia"], "nvidia"),
    ],
)
def test_who_holds_the_gpus(drivers: list[str], value: str, lay: Lay) -> None:
    assert read(host(lay, *drivers))["driver.claimed_by"].value == value


def test_a_gpu_without_a_driver_and_no_gpu_are_told_apart(lay: Lay) -> None:
    claim = read(host(lay, ""))["driver.claimed_by"]
    assert (claim.state, claim.reason) == ("absent", "no kernel driver holds the GPU")


def test_no_gpu_and_no_bus_are_told_apart(lay: Lay, tmp_path: Path) -> None:
    claim = read(host(lay))["driver.claimed_by"]
    assert (claim.state, claim.reason[:24]) == ("absent", "no NVIDIA display device")
    assert read(tmp_path / "nothing")["driver.claimed_by"].state == "unknown"


def test_uvm_as_a_module_built_in_or_missing(lay: Lay) -> None:
    modules = "nvidia_modeset 1556480 0 - Live 0x0\nnvidia 56713216 2 nvidia_uvm, Live 0x0\n"
    root = host(lay, "nvidia", files={"/proc/modules": modules})
    assert read(root)["driver.uvm_loaded"].value is False
    lay({"/proc/modules": f"nvidia_uvm 4911104 0 - Live 0x0\n{modules}"})
    assert read(root)["driver.uvm_loaded"].value is True
    lay({"/proc/modules": "", "/sys/module/nvidia_uvm/refcnt": "0"})
    assert read(root)["driver.uvm_loaded"].value is True


def test_a_kernel_that_lists_no_modules_leaves_uvm_unknown(lay: Lay) -> None:
    assert read(host(lay, "nvidia"))["driver.uvm_loaded"].state == "unknown"


def test_a_sandbox_that_shows_nodes_but_no_modules_leaves_uvm_unknown(lay: Lay) -> None:
    root = host(lay, files={"/proc/modules": "", "/dev/nvidia0": "", "/dev/nvidia-uvm": ""})
    assert read(root)["driver.uvm_loaded"].state == "unknown"


def test_device_nodes_are_counted(lay: Lay) -> None:
    names = ["nvidia0", "nvidia11", "nvidiactl", "nvidia-uvm", "nvidia-caps", "nvidia-modeset"]
    facts = read(host(lay, "nvidia", files={f"/dev/{name}": "" for name in names}))
    assert facts["driver.device_nodes"].value == 2
    assert facts["driver.uvm_node"].value is True
    assert facts["driver.nodes_denied"].value == []


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of Unix")
def test_nodes_that_may_not_be_opened_are_named(lay: Lay, monkeypatch: pytest.MonkeyPatch) -> None:
    root = host(lay, "nvidia", files={"/dev/nvidia0": "", "/dev/nvidiactl": "", "/dev/null": ""})
    (root / "dev/nvidiactl").chmod(0o400)
    if os.geteuid() == 0:  # root may open everything: ask as the kernel would answer a user
        monkeypatch.setattr(os, "access", as_a_stranger)
    facts = read(root)
    assert facts["driver.nodes_denied"].value == ["/dev/nvidiactl"]
    assert facts["driver.uvm_node"].value is False


def as_a_stranger(path: Path, wanted: int) -> bool:
    """Judge by the owner's bits alone."""
    return Path(path).stat().st_mode >> 6 & wanted == wanted


def test_wsl_has_no_kernel_side(lay: Lay) -> None:
    root = lay({"/proc/sys/kernel/osrelease": "5.15.167.4-microsoft-standard-WSL2"})
    facts = read(root)
    assert {fact.state for fact in facts.values()} == {"absent"}
    assert facts["driver.uvm_loaded"].reason == "WSL has no nvidia kernel module"


def test_other_systems_have_no_kernel_side(lay: Lay, monkeypatch: pytest.MonkeyPatch) -> None:
    root = host(lay, "nvidia", files={"/dev/nvidia0": "", "/proc/modules": "nvidia 1 0"})
    monkeypatch.setattr(sys, "platform", "win32")
    facts = read(root)
    for path in ("uvm_loaded", "uvm_node", "device_nodes", "nodes_denied"):
        assert facts[f"driver.{path}"].state == "absent"


@given(st.text())
def test_any_module_list_is_read(text: str) -> None:
    assert all(name and " " not in name for name in parse_modules(text) - {""})
