from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.resolve.machine import Machine
from flashdoctor.resolve.reason import Reason
from flashdoctor.resolve.torch_builds import TorchBuild, kept_build, torch_builds, with_torch

ReadMachine = Callable[..., Machine]


def fulls(machine: Machine) -> list[str]:
    return [build.full for build in torch_builds(machine)[0]]


def why(machine: Machine, version: str, tag: str) -> str:
    refused = torch_builds(machine)[1]
    found = [item.reason.text for item in refused if (item.version, item.variant) == (version, tag)]
    return found[0]


def test_the_newest_release_comes_first(machine: ReadMachine) -> None:
    builds, refused = torch_builds(machine("gpu=H100", "driver=610"))
    assert builds[0].version == "2.15.0"
    assert not any(item.version.startswith("1.") for item in refused)
    assert "2.13.0+cu129" not in [build.full for build in builds], "it is not advertised"


def test_each_limit_is_a_reason(machine: ReadMachine) -> None:
    volta = machine("gpu=Tesla V100-SXM2-16GB", "driver=550", "python=3.11")
    assert "CUDA 13 needs driver 580.65.06" in why(volta, "2.15.0", "cu130")
    assert "nothing for sm_70" in why(volta, "2.11.0", "cu128")
    assert "2.15.0+cu126" in fulls(volta)
    old = machine("gpu=A100", "driver=550", "glibc=2.17", "python=3.10")
    assert "needs glibc 2.28" in why(old, "2.7.1", "cu126")
    assert "needs glibc 2.28" in why(old, "2.6.0", "cu126"), "built anew, unlike cu124"
    assert "2.6.0+cu124" in fulls(old)
    assert "no wheel for Python 3.10" in why(old, "2.15.0", "cu126")


def test_arm_has_wheels_of_its_own(machine: ReadMachine) -> None:
    arm = machine("gpu=GH200 480GB", "driver=580", "platform=linux_aarch64")
    builds = {build.full: build for build in torch_builds(arm)[0]}
    assert builds["2.11.0+cu130"].is_default
    assert not builds["2.10.0+cu128"].is_default
    assert builds["2.11.0+cu130"].triton is None
    assert "no CUDA wheel for linux_aarch64" in why(arm, "2.8.0", "cu128")


def test_no_cuda_wheel_is_the_default_on_windows(machine: ReadMachine) -> None:
    builds, _ = torch_builds(machine("gpu=RTX 4090", "driver=580", "platform=win_amd64"))
    assert builds
    assert not any(build.is_default for build in builds)


@pytest.mark.parametrize(
    ("torch", "full"), [("2.8.0+cu126", "2.8.0+cu126"), ("2.8.0", "2.8.0+cu128")]
)
def test_the_installed_torch_is_found_among_the_wheels(
    machine: ReadMachine, torch: str, full: str
) -> None:
    kept = kept_build(machine("gpu=H100", "driver=550", f"torch={torch}"))
    assert isinstance(kept, TorchBuild)
    assert kept.full == full


def test_a_build_of_its_own_needs_facts_about_it(machine: ReadMachine) -> None:
    own = ("gpu=H100", "torch=2.9.0a0+git", "torch_cuda=13.0", "cxx11_abi=true")
    targets = "torch.arch_list=sm_90"
    kept = kept_build(machine(*own, targets, "driver=580"))
    assert isinstance(kept, TorchBuild)
    assert (kept.tag, kept.full, kept.new_abi) == (None, "2.9.0a0+git", True)
    assert isinstance(kept_build(machine(*own, "driver=580")), Reason)
    old = kept_build(machine(*own, targets, "driver=550"))
    assert isinstance(old, Reason)
    assert old.helps == "driver 580.65.06"


def test_a_torch_beside_the_machine(machine: ReadMachine) -> None:
    here = machine("gpu=H100", "driver=550")
    build = next(item for item in torch_builds(here)[0] if item.full == "2.6.0+cu124")
    facts = with_torch(here, build)
    assert facts.value("torch.minor") == "2.6"
    assert facts.value("torch.cxx11_abi") is False
    assert facts.value("torch.build") == "cuda"
