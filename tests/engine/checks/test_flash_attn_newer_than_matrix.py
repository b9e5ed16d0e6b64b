from __future__ import annotations

from typing import Any


def test_the_next_release_is_unknown(ask: Any) -> None:
    check = "flash-attn-newer-than-matrix"
    assert ask(check, {"flash_attn.version": "2.8.3.post2"}).outcome == "pass"
    judgement = ask(check, {"flash_attn.version": "2.8.4"})
    assert judgement.outcome == "fail"
    assert "2.8.3.post2" in judgement.detail
