from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.view import MissingFactError

CHECK = "nvcc-torch-cuda-major-mismatch"


def test_majors_are_compared_where_something_is_built(ask: Any) -> None:
    facts = {"torch.version": "2.12.0", "flash_attn.version": None, "toolkit.version": "12.9"}
    judgement = ask(CHECK, facts, "flash-attn")
    assert judgement.detail == "nvcc is of CUDA 12.9, torch was built with CUDA 13.0."
    with pytest.raises(MissingFactError):
        ask(CHECK, {**facts, "toolkit.version": None}, "flash-attn")
