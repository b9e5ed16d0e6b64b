from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.view import MissingFactError

CHECK = "python-headers-missing-for-build"


def test_headers_matter_only_to_a_build(ask: Any) -> None:
    facts = {"torch.version": "2.12.0", "flash_attn.version": None, "python.version": "3.12.3"}
    judgement = ask(CHECK, {**facts, "python.headers": False}, "flash-attn")
    assert judgement.detail == "flash-attn has to be compiled, and Python 3.12.3 has no Python.h."
    assert ask(CHECK, {**facts, "python.headers": False}).outcome == "pass"
    with pytest.raises(MissingFactError):
        ask(CHECK, facts, "flash-attn")
