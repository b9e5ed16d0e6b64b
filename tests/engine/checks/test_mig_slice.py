from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flashdoctor.engine.checks.mig_slice import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


def gpu(instances: int | None) -> dict[str, Any]:
    record: dict[str, Any] = {"index": 0, "name": "NVIDIA A100-SXM4-80GB", "visible": True}
    return record | {"mig_enabled": instances is not None, "mig_instances": instances}


def test_no_instance_is_no_device(look: Look) -> None:
    facts = {"gpu.mig_enabled": True}
    assert judge(look({**facts, "gpu.devices": [gpu(0)]})).severity == "error"
    assert judge(look({**facts, "gpu.devices": [gpu(3)]})).severity is None


def test_a_whole_gpu_beside_it_is_left_to_use(look: Look) -> None:
    facts = {"gpu.mig_enabled": True, "gpu.devices": [gpu(0), gpu(None)]}
    assert judge(look(facts)).severity is None


def test_without_mig_there_is_nothing_to_say(look: Look) -> None:
    assert judge(look({"gpu.mig_enabled": False, "gpu.devices": [gpu(None)]})).outcome == "pass"
