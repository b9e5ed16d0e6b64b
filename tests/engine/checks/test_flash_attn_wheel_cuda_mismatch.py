from __future__ import annotations

from typing import Any

CHECK = "flash-attn-wheel-cuda-mismatch"


def test_the_detail_names_both_majors(ask: Any) -> None:
    name = "flash_attn-2.8.3+cu12torch2.9cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"
    judgement = ask(CHECK, {"torch.version": "2.9.1+cu130", "flash_attn.wheel.file": name})
    assert judgement.detail == (
        "The wheel of flash-attn 2.8.3 links CUDA 12, torch brings CUDA 13.0."
    )
    assert judgement.values == {"advice.flash_attn": "2.8.3.post2"}


def test_an_extension_on_disk_is_left_to_the_rule_that_reads_it(ask: Any) -> None:
    facts = {
        "torch.version": "2.9.1+cu130",
        "flash_attn.version": "2.8.3",
        "flash_attn.wheel.cuda": "12",
        "flash_attn.extension_needed": ["libcudart.so.12"],
    }
    assert ask(CHECK, facts).outcome == "pass"
