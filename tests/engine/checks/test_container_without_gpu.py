from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.container_without_gpu import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


BARE = {"container.kind": "docker", "nvml.status": "library-not-found", "driver.device_nodes": 0}


@pytest.mark.parametrize("wanted", ["void", "none", ""])
def test_a_container_that_asked_for_none_is_told_so(look: Look, wanted: str) -> None:
    judgement = judge(look({**BARE, "container.visible_devices": wanted}))
    assert "no GPU was asked for" in judgement.detail


def test_a_request_that_no_runtime_heard_is_told(look: Look) -> None:
    facts = {**BARE, "container.visible_devices": "all", "gpu.pci_count": 8}
    assert "no runtime acted" in judge(look(facts)).detail


def test_a_host_without_a_gpu_is_told(look: Look) -> None:
    assert "host may have none" in judge(look({**BARE, "gpu.pci_count": 0})).detail


def test_a_node_shows_that_a_gpu_was_given(look: Look) -> None:
    assert judge(look({**BARE, "driver.device_nodes": 1})).outcome == "pass"
    assert judge(look({**BARE, "wsl.dxg": True})).outcome == "pass"


def test_an_unasked_nvml_is_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError, match=r"nvml.status"):
        judge(look({"container.kind": "docker"}))


def test_a_container_without_a_driver_has_no_gpu(look: Look) -> None:
    assert judge(look({"container.kind": "docker", "driver.version": None})).outcome == "fail"
