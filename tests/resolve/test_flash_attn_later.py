from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.resolve.flash_attn_later import (
    choose_fa3,
    choose_fa4,
    fa3_reason,
    fa4_reason,
)
from flashdoctor.resolve.machine import Machine
from flashdoctor.resolve.torch_builds import torch_builds
from flashdoctor.resolve.vllm_releases import vllm_releases
from flashdoctor.resolve.wants import Want

ReadMachine = Callable[..., Machine]
FA3, FA4 = Want("fa3"), Want("fa4")


@pytest.mark.parametrize(
    ("gpu", "helps"),
    [("A100", "--want flash-attn"), ("RTX 4090", "--want flash-attn"), ("B200", "--want fa4")],
)
def test_fa3_is_for_hopper(machine: ReadMachine, gpu: str, helps: str) -> None:
    reason = fa3_reason(machine(f"gpu={gpu}"), FA3)
    assert reason is not None
    assert reason.helps == helps
    assert fa3_reason(machine("gpu=H200"), FA3) is None


def test_python_and_release_are_limits(machine: ReadMachine) -> None:
    old = machine("gpu=H100", "python=3.9")
    for reason in (fa3_reason(old, FA3), fa4_reason(old, FA4)):
        assert reason is not None
        assert reason.text.startswith("flash-attn-")
    here = machine("gpu=H100")
    other = fa3_reason(here, Want("fa3", "==2.0"))
    assert other is not None
    assert "know flash-attn-3 3.0.0 only" in other.text
    assert fa4_reason(here, Want("fa4", "==4.0.0b36")) is None
    assert fa4_reason(machine("gpu=Tesla T4"), FA4) is not None


def test_fa4_needs_the_driver_of_its_compiler(machine: ReadMachine) -> None:
    reason = fa4_reason(machine("gpu=H100", "driver=570.211.01"), FA4)
    assert reason is not None
    assert "needs driver 575.51.03 or newer, this machine has 570.211.01" in reason.text
    for driver in ("575.51.03", "575", "580.65.06"):
        assert fa4_reason(machine("gpu=H100", f"driver={driver}"), FA4) is None
    assert fa4_reason(machine("gpu=H100"), FA4) is None


@pytest.mark.parametrize(
    ("torch", "facts", "kinds"),
    [
        ("2.15.0+cu130", (), ["wheel", "build"]),
        ("2.10.0+cu126", (), ["wheel", "build"]),
        ("2.10.0+cu128", (), ["build"]),
        ("2.8.0+cu126", (), ["build"]),
        ("2.11.0+cu130", ("platform=linux_aarch64",), ["build"]),
        ("2.3.1+cu121", (), []),
        ("2.10.0+cu128", ("platform=win_amd64",), []),
    ],
)
def test_how_fa3_comes(
    machine: ReadMachine, torch: str, facts: tuple[str, ...], kinds: list[str]
) -> None:
    here = machine("gpu=NVIDIA H100 80GB HBM3", "driver=580", *facts)
    build = next(item for item in torch_builds(here)[0] if item.full == torch)
    found = ["build" if item.build else "wheel" for item in choose_fa3(here, build)]
    assert found == kinds


def test_fa4_goes_with_vllm_where_its_cutlass_pin_allows(machine: ReadMachine) -> None:
    here = machine("gpu=B200", "driver=580")
    releases = {item.version: item for item in vllm_releases(here, Want("vllm"))[0]}
    assert [item.version for item in choose_fa4(here, releases["0.33.0"])] == ["4.0.0b36"]
    assert list(choose_fa4(here, releases["0.22.1"])) == []
    assert list(choose_fa4(here, releases["0.19.1"])) != []
    assert next(choose_fa4(here, None)).note == ""
    assert "nobody promises" in next(choose_fa4(machine("gpu=RTX 4090"), None)).note
