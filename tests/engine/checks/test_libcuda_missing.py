from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.libcuda_missing import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


def test_a_missing_library_is_no_cause_where_no_driver_runs(look: Look) -> None:
    facts = {"driver.libcuda_path": None, "gpu.count": 0, "driver.module_loaded": False}
    assert judge(look(facts)).outcome == "pass"


def test_nodes_and_a_module_show_that_a_driver_runs(look: Look) -> None:
    facts = {"driver.libcuda_path": None, "driver.module_loaded": True}
    assert judge(look({**facts, "driver.device_nodes": 2})).outcome == "fail"
    assert judge(look({**facts, "driver.device_nodes": 0})).outcome == "pass"


@pytest.mark.parametrize(
    "words",
    [
        "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
        "AssertionError: libcuda.so cannot found!",
    ],
)
def test_the_loaders_words_are_enough(look: Look, words: str) -> None:
    assert judge(look({"live.error": words})).evidence[0] == "live.error"


def test_wsl_needs_it_as_linux_does_and_windows_has_none(look: Look) -> None:
    facts = {"driver.libcuda_path": None, "nvml.status": "ok", "gpu.count": 1}
    assert judge(look({**facts, "wsl.version": 2, "os.system": "Linux"})).outcome == "fail"
    assert judge(look({**facts, "os.system": "Windows"})).outcome == "pass"
