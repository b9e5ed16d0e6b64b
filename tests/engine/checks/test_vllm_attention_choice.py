from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.checks.vllm_attention_choice import chosen
from flashdoctor.model.versions import Capability


@pytest.mark.parametrize(
    ("vllm", "capability", "words"),
    [
        ("0.19.1", (7, 5), "no FlashAttention, another backend serves"),
        ("0.19.1", (8, 9), ""),
        ("0.19.1", (9, 0), ""),
        ("0.10.2", (10, 0), "FlashAttention-2"),
        ("0.16.0", (10, 0), "FlashInfer before FlashAttention-2"),
        ("0.17.1", (10, 3), "FlashInfer before FlashAttention-4"),
        ("0.33.0", (12, 0), "FlashAttention-2"),
        ("0.33.0", (12, 1), "FlashAttention-2"),
    ],
)
def test_the_choice_by_gpu_and_release(vllm: str, capability: tuple[int, int], words: str) -> None:
    assert chosen(vllm, Capability(*capability)) == words


def test_the_first_visible_gpu_is_the_one_that_is_told(ask: Any) -> None:
    facts = {"gpu.name": "NVIDIA GeForce RTX 5090", "vllm.version": "0.19.1"}
    assert ask("vllm-attention-choice", facts).detail == (
        "NVIDIA GeForce RTX 5090 (12.0), vLLM 0.19.1: FlashAttention-2."
    )
