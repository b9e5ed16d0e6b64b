from __future__ import annotations

from typing import Any

CHECK = "build-dependency-missing"
MODULES = ("packaging", "psutil", "setuptools", "wheel", "ninja")
BUILD = {
    "torch.version": "2.12.0",
    "flash_attn.version": None,
    **{f"{name}.version": "1.0" for name in MODULES},
}


def test_everything_that_is_missing_is_named(ask: Any) -> None:
    facts = {**BUILD, "psutil.version": None, "wheel.version": None}
    judgement = ask(CHECK, facts, "flash-attn")
    assert judgement.detail == "Not installed: psutil, wheel."
    assert judgement.values == {"advice.packages": "psutil wheel"}
    assert judgement.severity is None


def test_ninja_alone_only_makes_it_slow(ask: Any) -> None:
    judgement = ask(CHECK, {**BUILD, "ninja.version": None}, "flash-attn")
    assert judgement.severity == "warning"
    both = ask(CHECK, {**BUILD, "ninja.version": None, "psutil.version": None}, "flash-attn")
    assert both.severity is None
