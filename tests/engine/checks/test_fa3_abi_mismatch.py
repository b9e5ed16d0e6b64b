from __future__ import annotations

from typing import Any


def test_a_missing_symbol_is_named_unless_the_import_works(ask: Any) -> None:
    facts = {
        "flash_attn_3.version": "3.0.0.b1",
        "flash_attn_3.missing_symbols": ["_ZN3c104cuda9SetDeviceEi"],
    }
    judgement = ask("fa3-abi-mismatch", facts)
    assert judgement.detail.startswith("FlashAttention-3 3.0.0.b1 needs c10::cuda::SetDevice")
    imports = [{"module": "flash_attn_interface", "status": "ok"}]
    proven = {**facts, "live.status": "ok", "live.imports": imports}
    assert ask("fa3-abi-mismatch", proven).outcome == "pass"
