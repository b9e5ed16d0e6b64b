from __future__ import annotations

from typing import Any


def test_the_next_release_is_unknown(ask: Any) -> None:
    check = "vllm-newer-than-matrix"
    assert ask(check, {"vllm.version": "0.33.0"}).outcome == "pass"
    judgement = ask(check, {"vllm.version": "0.33.1"})
    assert judgement.outcome == "fail"
    assert "0.33.0" in judgement.detail
