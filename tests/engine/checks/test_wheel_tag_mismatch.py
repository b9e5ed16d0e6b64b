from __future__ import annotations

from typing import Any

CHECK = "wheel-tag-mismatch"
NAME = "flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp310-cp310-linux_x86_64.whl"


def test_the_wheel_for_this_python_is_advised(ask: Any) -> None:
    facts = {
        "python.version": "3.12",
        "os.platform": "linux_x86_64",
        "torch.version": "2.8.0+cu128",
        "flash_attn.wheel.file": NAME,
    }
    judgement = ask(CHECK, facts)
    assert judgement.detail == "The flash-attn wheel is for cp310, the interpreter is cp312."
    assert judgement.values["advice.wheel"].endswith("-cp312-cp312-linux_x86_64.whl")


def test_the_file_that_was_found_counts_before_the_wheel_s_name(ask: Any) -> None:
    facts = {
        "python.version": "3.12",
        "flash_attn.wheel.file": NAME,
        "flash_attn.extension_python": "cp312",
    }
    assert ask(CHECK, facts).outcome == "pass"


def test_the_stable_abi_and_pure_wheels_fit_later_pythons(ask: Any) -> None:
    stated = {"python.tag": "cp312", "flash_attn.version": "2.8.3"}
    for tag, abi, outcome in (
        ("cp39", "abi3", "pass"),
        ("cp313", "abi3", "fail"),
        ("py3", "none", "pass"),
    ):
        facts = {**stated, "flash_attn.wheel.python": tag, "flash_attn.wheel.abi": abi}
        assert ask(CHECK, facts).outcome == outcome
    assert ask(CHECK, {**stated, "flash_attn.extension_python": "abi3"}).outcome == "pass"
