from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.torch_wheels import is_index_wheel, is_nightly, machine_of, wheel_targets
from flashdoctor.model.facts import known
from flashdoctor.model.snapshot import of


@pytest.mark.parametrize(
    ("version", "published", "nightly"),
    [
        ("2.9.1", True, False),
        ("2.9.1+cu128", True, False),
        ("2.9.1+cpu", True, False),
        ("2.9.1+rocm6.4", False, False),
        ("2.8.0a0+34c6371d24.nv25.08", False, False),
        ("2.9.0.dev20250801+cu128", False, True),
        ("2.9.0.dev20250801", False, True),
        ("2.9.0.dev20250801+rocm6.4", False, False),
        ("2.9.0+gitabc", False, False),
    ],
)
def test_who_built_a_torch(version: str, *, published: bool, nightly: bool) -> None:
    assert (is_index_wheel(version), is_nightly(version)) == (published, nightly)


@pytest.mark.parametrize(
    ("facts", "machine"),
    [
        ({}, "linux"),
        ({"os.platform": "linux_aarch64", "os.system": "Linux"}, "aarch64"),
        ({"os.system": "Windows"}, "windows"),
        ({"gpu.segment": "jetson"}, "aarch64"),
        ({"gpu.segment": "jetson", "os.platform": "linux_x86_64"}, "linux"),
    ],
)
def test_a_machine_is_x86_until_something_says_otherwise(
    facts: dict[str, Any], machine: str
) -> None:
    assert machine_of(of(known(path, facts[path], "a test") for path in facts)) == machine


def test_each_machine_has_its_own_targets() -> None:
    row = {"arch_list": ["9.0", "12.0"], "ptx": "12.0", "aarch64_arch_list": ["8.0"]}
    assert wheel_targets(row, "linux") == ["sm_90", "sm_120", "compute_120"]
    assert wheel_targets(row, "windows") == wheel_targets(row, "linux")
    assert wheel_targets({**row, "windows_arch_list": ["6.1"]}, "windows") == ["sm_61"]
    assert wheel_targets(row, "aarch64") == ["sm_80"]
    assert wheel_targets({}, "aarch64") == []
