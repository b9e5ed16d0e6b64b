from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.some_gpus_not_reported import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


def test_both_counts_are_told(look: Look) -> None:
    judgement = judge(look({"gpu.pci_count": 8, "gpu.count": 7}))
    assert "7 of 8" in judgement.detail


def test_a_container_gets_a_part_of_the_bus(look: Look) -> None:
    facts = {"gpu.pci_count": 8, "gpu.count": 1, "container.kind": "kubernetes"}
    assert judge(look(facts)).outcome == "pass"


def test_a_bus_that_could_not_be_listed_is_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError, match=r"gpu.pci_count"):
        judge(look({"gpu.count": 8}))
