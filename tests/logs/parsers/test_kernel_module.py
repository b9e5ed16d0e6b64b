from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.kernel_module import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nouveau             2306048  4", {"driver.claimed_by": "nouveau"}),
        ("nouveau             2306048  0", {}),
        ("nvidia, 470.57.02, 5.4.0-80-generic, x86_64: installed", {"driver.version": "470.57.02"}),
        ("nvidia-open/580.65.06, 6.14.0, x86_64: installed",
         {"driver.version": "580.65.06", "driver.module_flavor": "open"}),
        ("modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0",
         {"driver.module_loaded": False}),
        ("$ modinfo -F license nvidia\nNVIDIA", {"driver.module_flavor": "proprietary"}),
        ("filename:       /lib/modules/6.8/kernel/sound/snd.ko\nlicense:        Dual MIT/GPL", {}),
        ("license:        Dual MIT/GPL", {}),
        ("Successfully installed nvidia-cublas-cu12-12.4.5.8", {}),
    ],
)  # fmt: skip
def test_what_the_tools_say(text: str, expected: dict[str, Any], stated: Stated) -> None:
    assert stated(PARSER, text) == expected


def test_modinfo_is_forgotten_after_a_while(stated: Stated) -> None:
    text = "$ modinfo nvidia\n" + "alias: x\n" * 40 + "version:        570.124.06"
    assert stated(PARSER, text) == {}
