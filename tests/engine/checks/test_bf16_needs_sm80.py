from __future__ import annotations

from typing import Any


def test_only_the_old_ones_of_several_gpus_are_named(ask: Any) -> None:
    devices = [
        {"index": 0, "name": "NVIDIA L4", "compute_capability": "8.9"},
        {"index": 1, "name": "Tesla T4", "compute_capability": "7.5"},
    ]
    assert (
        ask("bf16-needs-sm80", {"gpu.devices": devices}).detail == "Tesla T4 (7.5): float16 only."
    )
