from __future__ import annotations

from typing import Any

CHECK = "vllm-python-unsupported"


def test_earlier_patches_of_0_10_took_less(ask: Any) -> None:
    python = {"python.version": "3.13.0"}
    assert ask(CHECK, {**python, "vllm.version": "0.10.1.1"}).outcome == "fail"
    assert ask(CHECK, {**python, "vllm.version": "0.10.2"}).outcome == "pass"


def test_what_the_metadata_say_counts(ask: Any) -> None:
    facts = {
        "python.version": "3.13.0",
        "vllm.version": "0.10.1.1",
        "vllm.python_requires": ">=3.9",
    }
    assert ask(CHECK, facts).outcome == "pass"
