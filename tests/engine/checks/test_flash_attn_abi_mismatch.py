from __future__ import annotations

from typing import Any

SYMBOL = "_ZN3c105ErrorC2ENS_14SourceLocationESs"
BROKEN = {
    "flash_attn.version": "2.7.4.post1",
    "torch.version": "2.7.1+cu126",
    "python.version": "3.10",
    "os.platform": "linux_x86_64",
    "flash_attn.missing_symbols": [SYMBOL, "_ZN3c104cuda9SetDeviceEi"],
}


def test_the_first_symbol_is_named_in_words(ask: Any) -> None:
    judgement = ask("flash-attn-abi-mismatch", BROKEN)
    assert judgement.outcome == "fail"
    assert judgement.detail == (
        "flash-attn 2.7.4.post1 needs c10::Error::Error with the old std::string and 1 more, "
        "which torch 2.7.1+cu126 does not have."
    )
    assert judgement.values["advice.wheel"].endswith(
        "torch2.7cxx11abiTRUE-cp310-cp310-linux_x86_64.whl"
    )


def test_a_live_import_outweighs_the_search_for_symbols(ask: Any) -> None:
    imports = [{"module": "flash_attn_2_cuda", "status": "ok"}]
    facts = {**BROKEN, "live.status": "ok", "live.imports": imports}
    assert ask("flash-attn-abi-mismatch", facts).outcome == "pass"
