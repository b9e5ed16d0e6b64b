from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.view import MissingFactError

CHECK = "cxx11-abi-mismatch"


def wheel(torch: str, abi: str, platform: str = "linux_x86_64") -> str:
    return f"flash_attn-2.7.4.post1+cu12torch{torch}cxx11abi{abi}-cp312-cp312-{platform}.whl"


def test_the_detail_names_both_abis(ask: Any) -> None:
    facts = {"torch.version": "2.6.0+cu126", "flash_attn.wheel.file": wheel("2.6", "FALSE")}
    judgement = ask(CHECK, facts)
    assert judgement.detail == (
        "flash-attn 2.7.4.post1 has the old C++ ABI, torch 2.6.0+cu126 the new one."
    )
    assert "torch.cxx11_abi" in judgement.evidence


def test_windows_has_no_such_abi(ask: Any) -> None:
    facts = {
        "os.platform": "win_amd64",
        "torch.version": "2.6.0+cu126",
        "flash_attn.wheel.file": wheel("2.6", "FALSE", "win_amd64"),
    }
    assert ask(CHECK, facts).outcome == "pass"


def test_a_container_s_own_torch_says_its_abi_itself(ask: Any) -> None:
    facts = {
        "torch.version": "2.5.0a0+872d972e41.nv24.8",
        "torch.cxx11_abi": True,
        "flash_attn.wheel.file": wheel("2.5", "FALSE"),
    }
    assert ask(CHECK, facts).outcome == "fail"
    del facts["torch.cxx11_abi"]
    with pytest.raises(MissingFactError):
        ask(CHECK, facts)
