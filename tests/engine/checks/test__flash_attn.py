from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.checks._flash_attn import (
    is_mislabelled,
    is_official_name,
    is_stated,
    loads,
    new_abi,
)
from flashdoctor.engine.view import MissingFactError


def wheel(version: str, torch: str, abi: str, platform: str = "linux_x86_64") -> dict[str, Any]:
    name = f"flash_attn-{version}+cu12torch{torch}cxx11abi{abi}-cp312-cp312-{platform}.whl"
    return {"flash_attn.wheel.file": name}


@pytest.mark.parametrize(
    ("version", "torch", "abi", "lies"),
    [
        ("2.7.4.post1", "2.6", "FALSE", False),
        ("2.8.0", "2.6", "FALSE", True),
        ("2.8.3", "2.5", "FALSE", False),
        ("2.8.3", "2.7", "FALSE", False),
        ("2.8.3", "2.10", "FALSE", False),
        ("2.8.3", "2.6", "TRUE", False),
    ],
)
def test_a_tag_is_believed_unless_it_was_shown_to_lie(
    look: Any, version: str, torch: str, abi: str, lies: bool
) -> None:
    assert is_mislabelled(look(wheel(version, torch, abi))) is lies


def test_symbols_count_before_the_tag(look: Any) -> None:
    facts = wheel("2.7.4.post1", "2.6", "FALSE")
    assert new_abi(look(facts)) == (False, "flash_attn.wheel.cxx11_abi")
    seen = look({**facts, "flash_attn.abi_by_symbols": True})
    assert new_abi(seen) == (True, "flash_attn.abi_by_symbols")
    with pytest.raises(MissingFactError):
        new_abi(look({"flash_attn.version": "2.8.3"}))


def test_an_official_name_has_the_tags_of_its_release(look: Any) -> None:
    assert is_official_name(look(wheel("2.8.3", "2.8", "TRUE")))
    assert not is_official_name(look(wheel("2.8.3", "2.8", "TRUE", "win_amd64")))
    assert not is_official_name(look({"flash_attn.version": "2.8.3"}))


def test_what_the_matrix_guesses_from_a_release_is_not_stated(look: Any) -> None:
    guessed = {"flash_attn.version": "2.8.3", "torch.version": "2.8.0+cu128"}
    assert not is_stated(look(guessed), "flash_attn.sass")
    assert is_stated(look({**guessed, "flash_attn.sass": ["sm_80"]}), "flash_attn.sass")


def test_symbols_or_a_live_import_prove_that_it_loads(look: Any) -> None:
    imports = [{"module": "flash_attn_2_cuda", "status": "ok"}]
    assert loads(look({"flash_attn.version": "2.8.3", "flash_attn.missing_symbols": []}))
    assert loads(look({"live.status": "ok", "live.imports": imports}))
    assert not loads(look({"flash_attn.version": "2.8.3"}))
    assert not loads(look({"flash_attn.missing_symbols": ["_ZN3c104cuda9SetDeviceEa"]}))
