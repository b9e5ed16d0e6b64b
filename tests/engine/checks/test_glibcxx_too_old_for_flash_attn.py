from __future__ import annotations

from typing import Any


def test_an_import_that_works_found_its_library(ask: Any) -> None:
    facts = {
        "flash_attn.version": "2.8.3",
        "flash_attn.extension_glibcxx": "3.4.30",
        "os.glibcxx": "3.4.9",
    }
    judgement = ask("glibcxx-too-old-for-flash-attn", facts)
    assert judgement.detail.startswith("flash-attn 2.8.3 needs GLIBCXX_3.4.30")
    imports = [{"module": "flash_attn_2_cuda", "status": "ok"}]
    proven = {**facts, "live.status": "ok", "live.imports": imports}
    assert ask("glibcxx-too-old-for-flash-attn", proven).outcome == "pass"
