from __future__ import annotations

from typing import Any


def test_what_xformers_has_is_told(ask: Any) -> None:
    facts = {
        "gpu.name": "NVIDIA B200",
        "xformers.version": "0.0.29.post2",
        "xformers.sass": ["sm_80", "sm_90a"],
        "xformers.ptx": ["compute_90a"],
    }
    assert ask("bundled-flash-kernel-wrong-arch", facts).detail == (
        "xformers has sm_80, sm_90a, nothing for NVIDIA B200 (10.0)."
    )
