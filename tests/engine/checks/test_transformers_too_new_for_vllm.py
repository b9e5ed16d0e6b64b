from __future__ import annotations

from typing import Any

CHECK = "transformers-too-new-for-vllm"


def test_ceilings_that_no_wheel_declares(ask: Any) -> None:
    old = ask(CHECK, {"vllm.version": "0.9.2", "transformers.version": "4.57.0"})
    assert old.detail == "vLLM 0.9.2 works with transformers <4.54, 4.57.0 is installed."
    assert old.values["advice.transformers"] == "<4.54"
    five = ask(CHECK, {"vllm.version": "0.19.0", "transformers.version": "5.6.0"})
    assert five.values["advice.transformers"] == "<5"


def test_the_pin_s_upper_end_and_its_gaps(ask: Any) -> None:
    capped = ask(CHECK, {"vllm.version": "0.33.0", "transformers.version": "5.24.0"})
    assert capped.values["advice.transformers"] == "<5.21.0,>=5.16.1"
    gap = {"vllm.version": "0.20.2", "transformers.version": "5.4.1"}
    assert ask(CHECK, gap).outcome == "fail"


def test_too_old_is_another_rule_s(ask: Any) -> None:
    facts = {"vllm.version": "0.33.0", "transformers.version": "5.0.0"}
    assert ask(CHECK, facts).outcome == "pass"
