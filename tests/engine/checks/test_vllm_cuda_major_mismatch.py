from __future__ import annotations

from typing import Any

CHECK = "vllm-cuda-major-mismatch"
MIXED = {"vllm.version": "0.20.2", "torch.version": "2.11.0+cu128"}


def test_what_is_linked_counts_before_what_the_index_has(ask: Any) -> None:
    assert ask(CHECK, MIXED).detail == "vLLM 0.20.2 links CUDA 13, torch brings CUDA 12.8."
    linked = {**MIXED, "vllm.extension_needed": ["libc10.so", "libcudart.so.12"]}
    assert ask(CHECK, linked).outcome == "pass"


def test_an_import_that_works_found_its_runtime(ask: Any) -> None:
    imports = [{"module": "vllm._C", "status": "ok"}]
    proven = {**MIXED, "live.status": "ok", "live.imports": imports}
    assert ask(CHECK, proven).outcome == "pass"
