from __future__ import annotations

from typing import Any

CHECKS = {
    "flash-attn-import-failed": "ImportError: undefined symbol: _ZN3c104cuda9SetDeviceEi",
    "flash-attn-import-lacks-cuda-library": "libcudart.so.12: cannot open shared object file",
    "flash-attn-import-lacks-system-library": "libc.so.6: version `GLIBC_2.32' not found",
}


def test_every_error_belongs_to_one_of_the_three_rules(ask: Any) -> None:
    for owner, error in CHECKS.items():
        records = [{"module": "flash_attn_2_cuda", "status": "error", "error": error}]
        facts = {
            "flash_attn.version": "2.8.3",
            "live.status": "ok",
            "live.imports": records,
        }
        failing = {check for check in CHECKS if ask(check, facts).outcome == "fail"}
        assert failing == {owner}
        assert ask(owner, facts).detail == error


def test_fa3_and_fa4_are_not_flash_attn_2(ask: Any) -> None:
    records = [
        {"module": "flash_attn_interface", "status": "error", "error": "x"},
        {"module": "flash_attn.cute", "status": "error", "error": "x"},
        {"module": "flash_attn", "status": "ok"},
    ]
    facts = {"flash_attn.version": "2.8.3", "live.status": "ok", "live.imports": records}
    assert ask("flash-attn-import-failed", facts).outcome == "pass"
