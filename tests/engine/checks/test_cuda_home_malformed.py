from __future__ import annotations

from typing import Any

CHECK = "cuda-home-malformed"


def test_it_is_an_error_only_where_something_has_to_be_compiled(ask: Any) -> None:
    facts = {
        "torch.version": "2.12.0",
        "flash_attn.version": None,
        "toolkit.home_problem": "it starts with a colon",
    }
    assert ask(CHECK, facts, "flash-attn").severity is None
    judgement = ask(CHECK, facts)
    assert judgement.severity == "info"
    assert judgement.detail == "CUDA_HOME: it starts with a colon."


def test_an_unknown_flash_attn_is_no_build(ask: Any) -> None:
    facts = {"toolkit.home_problem": "there is no such folder"}
    assert ask(CHECK, facts, "flash-attn").severity == "info"
