from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.view import MissingFactError

CHECK = "glibc-too-old-for-flash-attn"


def wheel(version: str, torch: str, platform: str = "linux_x86_64") -> str:
    return f"flash_attn-{version}+cu12torch{torch}cxx11abiFALSE-cp310-cp310-{platform}.whl"


def test_the_detail_names_both_versions(ask: Any) -> None:
    facts = {"os.distribution": "Ubuntu 20.04", "flash_attn.wheel.file": wheel("2.8.3", "2.6")}
    assert ask(CHECK, facts).detail == "flash-attn 2.8.3 needs glibc 2.32, this system has 2.31."


def test_of_an_old_wheel_only_the_most_it_can_need_is_known(ask: Any) -> None:
    facts = {"flash_attn.wheel.file": wheel("2.7.4.post1", "2.6")}
    assert ask(CHECK, {**facts, "os.glibc": "2.31"}).outcome == "pass"
    with pytest.raises(MissingFactError):
        ask(CHECK, {**facts, "os.glibc": "2.28"})


def test_a_manylinux_tag_is_a_promise(ask: Any) -> None:
    facts = {"flash_attn.wheel.file": wheel("2.8.3", "2.9", "manylinux_2_28_x86_64")}
    assert ask(CHECK, {**facts, "os.glibc": "2.28"}).outcome == "pass"
    assert ask(CHECK, {**facts, "os.glibc": "2.17"}).outcome == "fail"


def test_a_bare_version_is_only_doubted(ask: Any) -> None:
    facts = {"os.glibc": "2.31", "flash_attn.version": "2.8.3"}
    judgement = ask(CHECK, {**facts, "torch.version": "2.8.0+cu128"})
    assert (judgement.outcome, judgement.severity) == ("fail", "warning")
    seen = {**facts, "torch.version": "2.8.0+cu128", "flash_attn.extension_glibc": "2.29"}
    assert ask(CHECK, seen).outcome == "pass"
    with pytest.raises(MissingFactError):
        ask(CHECK, {**facts, "torch.version": "2.9.1+cu128"})
