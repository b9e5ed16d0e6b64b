from __future__ import annotations

from typing import Any

import pytest

CHECK = "transformers-cannot-use-flash-attn"


@pytest.mark.parametrize(
    ("transformers", "last_bad", "first_good"),
    [("4.36.2", "2.0.9", "2.1.0"), ("5.3.0", "2.0.9", "2.1.0"), ("5.4.0", "2.3.2", "2.3.3")],
)
def test_each_transformers_has_a_first_flash_attn(
    ask: Any, transformers: str, last_bad: str, first_good: str
) -> None:
    own = {"transformers.version": transformers}
    bad = ask(CHECK, {**own, "flash_attn.version": last_bad})
    assert bad.outcome == "fail"
    assert ask(CHECK, {**own, "flash_attn.version": first_good}).outcome == "pass"


@pytest.mark.parametrize(
    "broken",
    [
        {"flash_attn.missing_symbols": ["_ZN3c104cuda9SetDeviceEi"]},
        {"flash_attn.wheel.torch": "2.5", "torch.version": "2.6.0+cu124"},
        {"flash_attn.wheel.cxx11_abi": True, "torch.version": "2.6.0+cu124"},
        {"flash_attn.sass": ["sm_90"], "gpu.compute_capability": "8.0"},
        {"gpu.compute_capability": "7.5"},
    ],
)
def test_a_broken_flash_attn_is_a_warning_with_the_reason(ask: Any, broken: dict[str, Any]) -> None:
    facts = {"transformers.version": "5.10.0", "flash_attn.version": "2.7.4.post1", **broken}
    judgement = ask(CHECK, facts)
    assert (judgement.outcome, judgement.severity) == ("fail", "warning")
    assert judgement.detail
