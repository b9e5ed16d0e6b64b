from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.view import MissingFactError

CHECK = "transformers-too-old-for-vllm"


def test_of_an_early_patch_only_the_row_before_is_certain(ask: Any) -> None:
    vllm = {"vllm.version": "0.10.0"}
    judgement = ask(CHECK, {**vllm, "transformers.version": "4.50.0"})
    assert judgement.detail == (
        "vLLM 0.10.0 asks for transformers 4.51.1 or newer, 4.50.0 is installed."
    )
    with pytest.raises(MissingFactError):
        ask(CHECK, {**vllm, "transformers.version": "4.54.0"})


def test_what_the_metadata_say_is_certain(ask: Any) -> None:
    facts = {
        "vllm.version": "0.10.0",
        "vllm.transformers_pin": ">=4.53.2",
        "transformers.version": "4.53.1",
    }
    assert ask(CHECK, facts).outcome == "fail"
    assert ask(CHECK, {**facts, "transformers.version": "4.53.2"}).outcome == "pass"
