from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.cudart_major_mismatch import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


FLASH = {"flash_attn.version": "2.8.3", "flash_attn.extension_needed": ["libcudart.so.12"]}


def test_both_majors_are_told(look: Look) -> None:
    judgement = judge(look({**FLASH, "torch.version": "2.11.0+cu130"}))
    assert judgement.detail == "flash_attn is built for CUDA 12, torch for CUDA 13."
    assert judgement.values == {"advice.package": "flash-attn"}


def test_what_was_imported_found_its_runtime(look: Look) -> None:
    facts = {**FLASH, "torch.version": "2.11.0+cu130"}
    loads = [{"module": "flash_attn_2_cuda", "status": "ok"}]
    assert judge(look({**facts, "live.imports": loads})).severity == "warning"
    fails = [{"module": "flash_attn_2_cuda", "status": "error", "error": "ImportError"}]
    assert judge(look({**facts, "live.imports": fails})).severity is None


def test_a_package_without_the_shared_runtime_is_free(look: Look) -> None:
    facts = {"flash_attn.extension_needed": ["libc10.so"], "torch.version": "2.11.0+cu130"}
    with pytest.raises(MissingFactError):
        judge(look(facts))


def test_xformers_is_not_what_flash_attention_stands_on(look: Look) -> None:
    """As seen on an H200: torch 2.11.0+cu130, xformers 0.0.35 for CUDA 12, flash-attn ran."""
    facts = {"torch.version": "2.11.0+cu130", "xformers.version": "0.0.35",
             "xformers.extension_needed": ["libc10.so", "libcudart.so.12"]}  # fmt: skip
    assert judge(look(facts)).severity == "warning"
    both = judge(look({**facts, **FLASH}))
    assert (both.severity, both.values) == (None, {"advice.package": "flash-attn"})
