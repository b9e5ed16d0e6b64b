from __future__ import annotations

from typing import Any

CHECK = "flash-attn-wheel-tag-lies"


def test_both_lies_are_put_into_words(ask: Any) -> None:
    stated = {"flash_attn.version": "2.8.2"}
    new = {**stated, "flash_attn.wheel.cxx11_abi": False, "flash_attn.abi_by_symbols": True}
    old = {**stated, "flash_attn.wheel.cxx11_abi": True, "flash_attn.abi_by_symbols": False}
    assert ask(CHECK, new).detail == "The wheel is called cxx11abiFALSE and has the new ABI."
    assert ask(CHECK, old).detail == "The wheel is called cxx11abiTRUE and has the old ABI."


def test_it_is_a_curiosity_where_the_extension_loads(ask: Any) -> None:
    name = "flash_attn-2.8.3+cu12torch2.6cxx11abiFALSE-cp312-cp312-linux_x86_64.whl"
    facts = {"torch.version": "2.6.0+cu126", "flash_attn.wheel.file": name}
    assert ask(CHECK, facts).severity is None
    assert ask(CHECK, {**facts, "flash_attn.missing_symbols": []}).severity == "info"
