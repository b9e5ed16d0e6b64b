from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.engine.derive import derive
from flashdoctor.engine.torch_choice import Choice, advise_torch, choose_torch, own_index
from flashdoctor.engine.view import View
from flashdoctor.model.facts import known
from flashdoctor.model.snapshot import of
from flashdoctor.model.versions import Capability


def view(facts: dict[str, Any]) -> View:
    tables = load_tables()
    return View(derive(of(known(path, facts[path], "a test") for path in facts), tables), tables)


@pytest.mark.parametrize(
    ("facts", "capability", "choice"),
    [
        ({"torch.version": "2.9.1+cu130", "driver.version": "535.161.07"}, "8.0", "2.9.1 cu128"),
        ({"torch.version": "2.11.0+cu130", "driver.version": "580.95.05"}, "7.0", "2.11.0 cu126"),
        ({"torch.version": "2.7.1+cu126"}, "12.0", "2.7.1 cu128"),
        ({"torch.version": "2.6.0+cu124", "driver.version": "570.86.16"}, "12.0", "2.11.0 cu128"),
        ({"torch.version": "2.8.0+cu128", "driver.version": "470.82.01"}, "8.0", "2.7.1 cu118"),
        ({"torch.version": "2.0.1+cu117", "python.version": "3.8"}, "9.0", "2.0.1 cu118"),
        ({"torch.version": "2.8.0+cu128", "os.glibc": "2.17"}, "9.0", "2.6.0 cu124"),
        ({"driver.version": "450.80.02"}, "10.0", ""),
    ],
)
def test_what_is_there_changes_as_little_as_possible(
    facts: dict[str, Any], capability: str, choice: str
) -> None:
    major, minor = map(int, capability.split("."))
    found = choose_torch(view(facts), [Capability(major, minor)])
    assert found == (Choice(*choice.split()) if choice else None)


def test_one_build_has_to_serve_all_gpus() -> None:
    both = [Capability(6, 1), Capability(12, 0)]
    facts = {"torch.version": "2.8.0+cu128"}
    assert choose_torch(view(facts), both) is None
    assert choose_torch(view(facts), both[:1]) == Choice("2.8.0", "cu126")


def test_the_installed_build_names_its_own_index() -> None:
    assert own_index(view({"torch.version": "2.9.1"})) == {"advice.own_index": "cu128"}
    assert own_index(view({"torch.version": "2.9.1+cpu"})) == {}


def test_without_a_gpu_any_build_for_the_driver_will_do() -> None:
    facts = {"torch.version": "2.9.1+cu130", "driver.version": "550.54.15"}
    assert advise_torch(view(facts)) == {"advice.torch": "2.9.1", "advice.index": "cu128"}
