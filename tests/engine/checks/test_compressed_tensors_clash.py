from __future__ import annotations

from typing import Any


def test_the_package_that_moved_it_is_named(ask: Any) -> None:
    facts = {"vllm.version": "0.33.0", "compressed_tensors.version": "0.19.0"}
    assert "llmcompressor" not in ask("compressed-tensors-clash", facts).detail
    both = {**facts, "llmcompressor.version": "0.14.0.1"}
    assert ask("compressed-tensors-clash", both).detail.endswith(
        "0.19.0 is installed, as llmcompressor 0.14.0.1 wants it."
    )
