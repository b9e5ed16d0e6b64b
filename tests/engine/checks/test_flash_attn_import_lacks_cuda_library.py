from __future__ import annotations

from typing import Any

import pytest

CHECK = "flash-attn-import-lacks-cuda-library"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ("libcudart.so.11.0: cannot open shared object file", "fail"),
        ("libnvrtc.so.13: cannot open shared object file", "fail"),
        ("libcuda.so.1: cannot open shared object file", "fail"),
        ("libc10.so: cannot open shared object file", "pass"),
        ("libcudart.so.12: undefined symbol: x", "pass"),
    ],
)
def test_libraries_of_cuda_are_told_from_others(ask: Any, error: str, outcome: str) -> None:
    records = [{"module": "flash_attn_2_cuda", "status": "error", "error": error}]
    facts = {"flash_attn.version": "2.8.3", "live.status": "ok", "live.imports": records}
    assert ask(CHECK, facts).outcome == outcome
