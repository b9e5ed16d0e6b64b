from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.view import MissingFactError

CHECK = "flash-attn-wheel-other-platform"


@pytest.mark.parametrize(
    ("tag", "own", "outcome"),
    [
        ("linux_x86_64", "linux_x86_64", "pass"),
        ("manylinux2014_x86_64", "linux_x86_64", "pass"),
        ("manylinux_2_28_aarch64", "linux_aarch64", "pass"),
        ("manylinux_2_28_aarch64", "linux_x86_64", "fail"),
        ("win_amd64", "win_amd64", "pass"),
        ("win_amd64", "linux_x86_64", "fail"),
        ("win_arm64", "win_amd64", "fail"),
        ("any", "linux_aarch64", "pass"),
    ],
)
def test_system_and_processor_must_agree(ask: Any, tag: str, own: str, outcome: str) -> None:
    facts = {
        "flash_attn.version": "2.8.3",
        "flash_attn.wheel.platform": tag,
        "os.platform": own,
    }
    assert ask(CHECK, facts).outcome == outcome


def test_the_machine_in_the_file_counts_before_the_tag(ask: Any) -> None:
    facts = {
        "flash_attn.version": "2.8.3",
        "flash_attn.wheel.platform": "linux_x86_64",
        "flash_attn.extension_machine": "aarch64",
        "os.platform": "linux_aarch64",
    }
    assert ask(CHECK, facts).outcome == "pass"


@pytest.mark.parametrize(
    ("tag", "system", "outcome"),
    [("linux_x86_64", "Windows", "fail"), ("win_amd64", "Linux", "fail")],
)
def test_the_system_alone_is_enough_to_tell(ask: Any, tag: str, system: str, outcome: str) -> None:
    facts = {"flash_attn.version": "2.8.3", "flash_attn.wheel.platform": tag, "os.system": system}
    assert ask(CHECK, facts).outcome == outcome


def test_the_same_system_on_an_unknown_processor_is_no_verdict(ask: Any) -> None:
    facts = {"flash_attn.version": "2.8.3", "flash_attn.wheel.platform": "linux_x86_64"}
    with pytest.raises(MissingFactError):
        ask(CHECK, {**facts, "os.system": "Linux"})
