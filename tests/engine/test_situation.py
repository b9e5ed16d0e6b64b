from __future__ import annotations

import re
from typing import Any

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.engine import situation
from flashdoctor.engine.view import View
from flashdoctor.model.facts import known_or_absent
from flashdoctor.model.snapshot import of


def see(**facts: Any) -> View:
    """Make a view; a double underscore in a name stands for the dot."""
    paths = {name.replace("__", "."): value for name, value in facts.items()}
    return View(of(known_or_absent(path, paths[path], "a test") for path in paths), load_tables())


@pytest.mark.parametrize(
    ("facts", "answer"),
    [
        ({"gpu__count": 2}, True),
        ({"gpu__count": 0, "gpu__name": "NVIDIA L4"}, False),
        ({"gpu__name": "NVIDIA L4"}, True),
        ({"gpu__name": "AMD Instinct MI300X"}, False),
        ({"gpu__compute_capability": "9.0"}, True),
        ({"gpu__name": None}, False),
        ({"gpu__count": None}, False),
        ({}, None),
    ],
)
def test_a_count_says_more_than_a_name(facts: dict[str, Any], answer: bool | None) -> None:
    assert situation.reports_gpu(see(**facts)) is answer


def test_cuda_is_proven_by_a_start_and_not_by_a_count_of_devices() -> None:
    assert situation.proves_cuda(see(live__cuda_available=True, live__status="ok"))
    assert not situation.proves_cuda(see(live__cuda_available=True, live__status="error"))
    assert not situation.proves_cuda(see(live__status="ok"))


def test_torch_was_imported_where_it_told_its_version() -> None:
    assert situation.imports_torch(see(live__status="error", live__torch_version="2.9.1"))
    assert not situation.imports_torch(see(live__status="error"))


def test_the_first_text_that_fits_is_named() -> None:
    view = see(live__error="nothing", live__kernel_error="out of memory")
    assert situation.says(view, re.compile("memory")) == "live.kernel_error"
    assert situation.says(view, re.compile("memory"), "live.error") is None


@pytest.mark.parametrize(
    "facts",
    [{"os__jetson": True}, {"gpu__segment": "jetson"}, {"gpu__compute_capability": "8.7"}],
)
def test_tegra_boards_are_known_by_name_or_capability(facts: dict[str, Any]) -> None:
    assert situation.is_jetson(see(**facts))
    assert not situation.is_jetson(see(gpu__compute_capability="8.6"))


def test_wsl_and_windows_share_a_driver() -> None:
    assert situation.uses_windows_driver(see(wsl__version=2))
    assert situation.uses_windows_driver(see(os__system="Windows"))
    assert not situation.uses_windows_driver(see(os__system="Linux", wsl__version=0))
