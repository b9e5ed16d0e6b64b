from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.view import MissingFactError

CHECK = "gpu-below-framework-minimum"


def test_the_minimum_rose_with_cuda_13(ask: Any) -> None:
    facts = {"gpu.name": "Tesla V100-SXM2-32GB"}
    judgement = ask(CHECK, {**facts, "vllm.version": "0.20.2"})
    assert judgement.detail == "Tesla V100-SXM2-32GB (7.0): vLLM 0.20.2 starts at 7.5."
    assert ask(CHECK, {**facts, "vllm.version": "0.19.1"}).outcome == "pass"


def test_a_new_enough_jetson_is_not_established_by_that(ask: Any) -> None:
    with pytest.raises(MissingFactError):
        ask(CHECK, {"gpu.name": "Orin", "vllm.version": "0.10.2"})
