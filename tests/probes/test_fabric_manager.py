from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.facts import Fact
from flashdoctor.probes import fabric_manager
from flashdoctor.probes.fabric_manager import PATHS, describe_fabric_manager, parse_version
from flashdoctor.probes.pci import PciDevice

Lay = Callable[[Mapping[str, str | bytes]], Path]
SWITCH = PciDevice(class_code="0x068000", driver="nvidia-nvswitch")
GPU = PciDevice(class_code="0x030200", driver="nvidia")
HOST = {"/proc/1/comm": "systemd\n", "/proc/42/comm": "sshd\n"}
RUNNING = {**HOST, "/proc/77/comm": "nv-fabricmanage\n"}


def describe(root: Path, *devices: PciDevice, **environ: str) -> tuple[Fact, Fact]:
    state, version = describe_fabric_manager(root, {"PATH": "/none", **environ}, devices)
    assert (state.path, version.path) == PATHS
    return state, version


def program(root: Path, script: str) -> None:
    file = root / "usr/bin/nv-fabricmanager"
    file.parent.mkdir(parents=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def test_nothing_to_manage_is_absent(lay: Lay) -> None:
    state, version = describe(lay(RUNNING), GPU)
    assert (state.state, version.state) == ("absent", "absent")


def test_it_runs_or_it_does_not(lay: Lay) -> None:
    assert describe(lay(HOST), SWITCH)[0].value == "stopped"
    assert describe(lay(RUNNING), SWITCH)[0].value == "running"


def test_a_switchs_node_counts_as_a_switch(lay: Lay) -> None:
    assert describe(lay({**HOST, "/dev/nvidia-nvswitch0": ""}), GPU)[0].value == "stopped"


def test_the_pid_file_is_believed_only_if_that_process_is_it(lay: Lay) -> None:
    pid = "/run/nvidia-fabricmanager/nv-fabricmanager.pid"
    assert describe(lay({**HOST, pid: "42\n"}), SWITCH)[0].value == "stopped"
    assert describe(lay({**HOST, pid: "nonsense"}), SWITCH)[0].value == "stopped"


def test_the_pid_file_finds_it_beyond_the_limit(lay: Lay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fabric_manager, "_MOST_PROCESSES", 1)
    assert describe(lay(RUNNING), SWITCH)[0].reason == "more than 1 processes"
    pid = "/var/run/nvidia-fabricmanager/nv-fabricmanager.pid"
    assert describe(lay({**RUNNING, pid: "77"}), SWITCH)[0].value == "running"


def test_a_container_does_not_see_it(lay: Lay) -> None:
    root = lay({**HOST, "/.dockerenv": ""})
    assert describe(root, SWITCH)[0].reason == "a container does not see the host's processes"
    assert describe(lay(RUNNING), SWITCH)[0].value == "running"


def test_hidden_processes_leave_it_unknown(lay: Lay) -> None:
    assert describe(lay({"/proc/42/comm": "sh"}), SWITCH)[0].state == "unknown"


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_the_program_is_asked_on_a_machine_with_switches_only(lay: Lay) -> None:
    root = lay(HOST)
    program(root, "echo; echo '  Fabric Manager version is : 535.161.08'; echo")
    state, version = describe(root, SWITCH)
    assert (state.value, version.value) == ("stopped", "535.161.08")
    state, version = describe(root, GPU)
    assert (state.value, version.state) == ("stopped", "absent")


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
@pytest.mark.parametrize(
    ("script", "reason"), [("sleep 60", "timeout"), ("exit 3", "its answer holds no version")]
)
def test_a_program_that_does_not_answer_costs_the_version(
    script: str, reason: str, lay: Lay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fabric_manager, "_VERSION_TIMEOUT_S", 0.5)
    root = lay(HOST)
    program(root, script)
    assert describe(root, SWITCH)[1].reason == reason


@given(st.integers(100, 999), st.integers(0, 999), st.integers(0, 99), st.text(max_size=10))
def test_a_version_is_read(branch: int, minor: int, patch: int, noise: str) -> None:
    version = f"{branch}.{minor}.{patch:02}"
    assert parse_version(f"Fabric Manager version is : {version}\n{noise}") == version


@given(st.text())
def test_any_answer_is_read(text: str) -> None:
    assert parse_version(text.replace("version is", "")) is None
