from __future__ import annotations

from typing import Any


def test_the_next_release_is_unknown(ask: Any) -> None:
    check = "transformers-newer-than-matrix"
    assert ask(check, {"transformers.version": "5.24.0"}).outcome == "pass"
    judgement = ask(check, {"transformers.version": "5.24.1"})
    assert judgement.outcome == "fail"
    assert "5.24.0" in judgement.detail
