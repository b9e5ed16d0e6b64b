from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.facts import by_path
from flashdoctor.probes.kernel_module import (
    KernelModule,
    module_facts,
    parse_version_file,
    read_kernel_module,
)

CLOSED = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n"
    "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04) \n"
)
OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  "
    "(builder@host)  \nGCC version:  gcc version 15.3.0 (GCC) \n"
)
AARCH64 = "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build"


@pytest.mark.parametrize(
    ("text", "version", "flavor"),
    [
        (CLOSED, "550.90.07", "proprietary"),
        (OPEN, "580.159.04", "open"),
        (AARCH64, "580.95.05", "open"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  390.157", "390.157", "proprietary"),
        ("GCC version:  gcc version 15.3.0 (GCC) \n", None, None),
        ("", None, None),
    ],
)
def test_version_file(text: str, version: str | None, flavor: str | None) -> None:
    assert parse_version_file(text) == (version, flavor)


@given(st.text())
def test_any_text(text: str) -> None:
    version, flavor = parse_version_file(text)
    assert (version is None) == (flavor is None)


def test_proc_is_read_first(machine: Callable[..., Path]) -> None:
    module = read_kernel_module(machine(proc=OPEN, module="580.159.04"))
    facts = by_path(module_facts(module))
    assert facts["driver.module_loaded"].value is True
    assert facts["driver.module_version"].value == "580.159.04"
    assert facts["driver.module_version"].source == "/proc/driver/nvidia/version"
    assert facts["driver.module_flavor"].value == "open"


def test_sys_alone_does_not_tell_the_flavor(machine: Callable[..., Path]) -> None:
    facts = by_path(module_facts(read_kernel_module(machine(module="550.90.07"))))
    assert facts["driver.module_loaded"].value is True
    assert facts["driver.module_version"].value == "550.90.07"
    assert facts["driver.module_flavor"].state == "unknown"


def test_not_loaded(machine: Callable[..., Path]) -> None:
    facts = by_path(module_facts(read_kernel_module(machine())))
    assert facts["driver.module_loaded"].value is False
    assert facts["driver.module_version"].state == "absent"
    assert facts["driver.module_flavor"].state == "absent"


def test_a_system_without_proc_and_sys(tmp_path: Path) -> None:
    module = read_kernel_module(tmp_path)
    assert module == KernelModule()
    assert {fact.state for fact in module_facts(module)} == {"unknown"}
