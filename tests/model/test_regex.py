"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import flashdoctor
from flashdoctor.model.regex import regex


def test_a_pattern_does_what_a_compiled_one_does() -> None:
    lazy = regex(r"(\d+)", re.ASCII)
    assert [match[1] for match in lazy.finditer("a1b22")] == ["1", "22"]
    assert lazy.sub("#", "a1b22") == "a#b#"
    assert lazy.pattern == r"(\d+)"
    assert lazy.flags & re.ASCII
    assert regex(b"x+").fullmatch(b"xx") is not None


def test_a_mistake_shows_at_first_use() -> None:
    broken = regex("(")
    with pytest.raises(re.error):
        broken.match("x")


@pytest.mark.parametrize(
    "name",
    [
        module.name
        for module in pkgutil.walk_packages(flashdoctor.__path__, "flashdoctor.")
        if not module.name.startswith("flashdoctor.agents.") and "__main__" not in module.name
    ],
)
def test_every_pattern_of_the_package_compiles(name: str) -> None:
    for value in vars(importlib.import_module(name)).values():
        if type(value) is type(regex("")):
            assert isinstance(re.compile(value.pattern, value.flags), re.Pattern)
