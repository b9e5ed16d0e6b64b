from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.resolve.flash_attn import FlashAttn, choose_flash_attn, gpu_reason
from flashdoctor.resolve.machine import Machine
from flashdoctor.resolve.reason import Refused
from flashdoctor.resolve.torch_builds import torch_builds
from flashdoctor.resolve.wants import Want

ReadMachine = Callable[..., Machine]


def choose(
    machine: Machine, torch: str, specifier: str = ""
) -> tuple[list[FlashAttn], list[Refused]]:
    build = next(item for item in torch_builds(machine)[0] if item.full == torch)
    return choose_flash_attn(machine, build, Want("flash-attn", specifier))


@pytest.mark.parametrize(
    ("torch", "facts", "version"),
    [
        ("2.8.0+cu128", (), "2.8.3.post1"),
        ("2.9.1+cu128", ("python=3.14",), None),
        ("2.6.0+cu126", (), "2.8.3.post1"),
        ("2.6.0+cu124", (), "2.7.4.post1"),  # old C++ ABI
        ("2.6.0+cu126", ("glibc=2.31",), "2.7.4.post1"),
        ("2.5.1+cu124", (), "2.7.4.post1"),  # 2.8 has wheels for it that do not work
        ("2.3.0+cu121", (), "2.7.4.post1"),
        ("2.15.0+cu130", (), None),
    ],
)
def test_the_newest_wheel_that_works(
    machine: ReadMachine, torch: str, facts: tuple[str, ...], version: str | None
) -> None:
    found, _ = choose(machine("gpu=H100", "driver=580", "python=3.11", *facts), torch)
    wheels = [item.version for item in found if item.file]
    assert wheels == ([version] if version else [])
    assert found[-1].build is not None


def test_a_wheel_built_against_a_nightly_is_passed_over(machine: ReadMachine) -> None:
    here = machine("gpu=A100", "driver=580", "python=3.11")
    found, refused = choose(here, "2.4.0+cu121", "==2.5.9.post1")
    assert not [item for item in found if item.file]
    assert "was built against 2.4.0.dev" in refused[0].reason.text


def test_blackwell_is_turned_away_by_old_releases(machine: ReadMachine) -> None:
    here = machine("gpu=RTX 5090", "driver=580")
    found, refused = choose(here, "2.7.1+cu128", "<2.7.3")
    assert found == []
    assert refused


def test_an_unknown_need_of_glibc_is_a_note(machine: ReadMachine) -> None:
    facts = ("gpu=A100", "driver=580", "python=3.11")
    found, _ = choose(machine(*facts, "glibc=2.28"), "2.6.0+cu124")
    assert "whether it needs more than the 2.28" in found[0].note
    assert choose(machine(*facts, "glibc=2.31"), "2.6.0+cu124")[0][0].note == ""


def test_a_build_takes_a_release_of_the_package_index(machine: ReadMachine) -> None:
    found, _ = choose(machine("gpu=H100", "driver=580"), "2.15.0+cu130")
    assert [item.version for item in found] == ["2.8.3.post2"]
    assert choose(machine("gpu=H100", "driver=580"), "2.15.0+cu130", "==2.7.0")[0] == []


@pytest.mark.parametrize(("gpu", "fits"), [("Tesla T4", False), ("A100", True), ("GB10", True)])
def test_which_gpus_it_runs_on(machine: ReadMachine, gpu: str, fits: bool) -> None:
    assert (gpu_reason(machine(f"gpu={gpu}")) is None) == fits
