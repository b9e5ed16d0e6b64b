from __future__ import annotations

import importlib
import os
import platform
import sys
import sysconfig
from typing import Any

import pytest

environment: Any = importlib.import_module("flashdoctor.agents.environment")


def test_the_tag_is_the_one_of_this_interpreter() -> None:
    threaded = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    assert environment.wheel_tag() == f"cp{sys.version_info[0]}{sys.version_info[1]}{threaded}"


def test_a_free_threaded_python_of_windows_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    monkeypatch.delattr(sys, "abiflags", raising=False)
    monkeypatch.setattr(sys, "version", "3.13.0 (tags/v3.13.0) [MSC v.1941 64 bit (AMD64)]")
    assert environment.wheel_tag() == plain
    monkeypatch.setattr(sys, "version", "3.13.0 experimental free-threading build (tags/v3.13.0)")
    assert environment.wheel_tag() == f"{plain}t"


def test_markers_need_no_uname(monkeypatch: pytest.MonkeyPatch) -> None:
    known = environment.marker_environment()
    assert known["platform_machine"] == platform.machine()
    monkeypatch.delattr(os, "uname", raising=False)
    assert environment.marker_environment() == known  # platform remembers what it was told
