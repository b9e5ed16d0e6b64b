from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.wsl_gpu_not_exposed import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


def test_what_is_missing_is_named(look: Look) -> None:
    assert "/dev/dxg" in judge(look({"wsl.version": 2, "wsl.dxg": False})).detail
    facts = {"wsl.version": 2, "wsl.dxg": True, "wsl.library_path": False}
    assert "libcuda" in judge(look(facts)).detail


def test_a_device_and_a_silent_nvml_leave_it_open(look: Look) -> None:
    facts = {"wsl.version": 2, "wsl.dxg": True, "wsl.library_path": True}
    with pytest.raises(MissingFactError):
        judge(look({**facts, "nvml.status": "timeout"}))


def test_wsl_1_has_a_rule_of_its_own(look: Look) -> None:
    assert judge(look({"wsl.version": 1, "wsl.dxg": False})).outcome == "pass"


def test_a_windows_without_the_driver_is_told(look: Look) -> None:
    stated = {"wsl.version": 2, "gpu.name": "RTX 4090", "driver.version": None}
    assert judge(look(stated)).evidence[0] == "driver.version"
    assert judge(look({**stated, "nvml.status": "ok"})).outcome == "pass"
