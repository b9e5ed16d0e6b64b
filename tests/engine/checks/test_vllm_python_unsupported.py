from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.view import MissingFactError

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


def test_an_earlier_patch_may_take_more_than_the_one_that_was_read(ask: Any) -> None:
    with pytest.raises(MissingFactError):
        ask(CHECK, {"python.version": "3.8.18", "vllm.version": "0.6.2"})  # 0.6.6 dropped it
    assert ask(CHECK, {"python.version": "3.8.18", "vllm.version": "0.6.6.post1"}).outcome == "fail"
    assert ask(CHECK, {"python.version": "3.13.0", "vllm.version": "0.9.1"}).outcome == "fail"
