from __future__ import annotations

import importlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parsers._packages import (
    PATHS,
    Companions,
    normalised,
    state_package,
    state_wheel,
)
from flashdoctor.model.catalog import FACTS
from flashdoctor.model.log import Line

VERSIONS = importlib.import_module("flashdoctor.agents.packages").VERSIONS
WHEEL = "flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"


def test_every_distribution_that_the_agent_watches_is_known_here() -> None:
    agent = {name: f"{group}.version" for group, names in VERSIONS.items() for name in names}
    assert {name: PATHS.get(name) for name in agent} == agent


def test_every_path_is_a_fact() -> None:
    assert set(PATHS.values()) <= set(FACTS)


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("torch", "2.6.0+cu124", {"torch.version": "2.6.0+cu124"}),
        ("Torch", "v2.6.0", {"torch.version": "2.6.0"}),
        ("flashinfer_python", "0.2.5", {"flashinfer.version": "0.2.5"}),
        ("flash.attn", "2.8.3", {"flash_attn.version": "2.8.3"}),
        ("flash_attn", "4.0.0b5", {"flash_attn_4.version": "4.0.0b5"}),
        (
            "flash-attn",
            "2.8.3+cu12torch2.8cxx11abiTRUE",
            {
                "flash_attn.version": "2.8.3",
                "flash_attn.wheel.cuda": "12",
                "flash_attn.wheel.torch": "2.8",
                "flash_attn.wheel.cxx11_abi": True,
            },
        ),
        ("torch", "latest", {}),
        ("torch", "2.6-", {}),
        ("requests", "2.32.0", {}),
    ],
)
def test_a_version(name: str, version: str, expected: dict[str, Any]) -> None:
    assert {fact.path: fact.value for fact in state_package(name, version, "x")} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (WHEEL, {"flash_attn.wheel.file": WHEEL, "flash_attn.version": "2.8.3"}),
        (
            f"https://x/{WHEEL}#sha256=0",
            {"flash_attn.wheel.file": WHEEL, "flash_attn.version": "2.8.3"},
        ),
        ("flash_attn_3-3.0.0b1-cp39-abi3-linux_x86_64.whl", {"flash_attn_3.version": "3.0.0b1"}),
        ("torch-2.6.0%2Bcu124-cp310-cp310-linux_x86_64.whl", {"torch.version": "2.6.0+cu124"}),
        ("requests-2.32.0-py3-none-any.whl", {}),
        ("file:///home/conda/feedstock_root/work", {}),
    ],
)
def test_a_wheel(text: str, expected: dict[str, Any]) -> None:
    assert {fact.path: fact.value for fact in state_wheel(text, "x")} == expected


def test_a_companion_alone_is_torch_s() -> None:
    companions = Companions()
    companions.add("nvidia-cudnn-cu12", "9.1.0.70", Line(3, ""))
    companions.add("nvidia_nccl_cu12", "2.21.5", Line(4, ""))
    companions.add("nvidia-nccl-cu13", "2.27.0", Line(5, ""))
    found = list(companions.end("x"))
    assert [(item.fact.path, item.fact.value, item.line) for item in found] == [
        ("torch.cudnn", "9.1.0.70", 3)
    ]
    assert list(companions.end("x")) == []


@given(st.text(), st.text())
def test_any_name_and_version(name: str, version: str) -> None:
    for fact in state_package(name, version, "x"):
        assert fact.path in FACTS
        assert normalised(name) in PATHS
