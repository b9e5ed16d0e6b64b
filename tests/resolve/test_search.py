from __future__ import annotations

from collections.abc import Callable

from flashdoctor.model import versions
from flashdoctor.resolve.machine import Machine
from flashdoctor.resolve.search import search
from flashdoctor.resolve.wants import parse_wants

ReadMachine = Callable[..., Machine]


def test_no_build_comes_before_any_build(machine: ReadMachine) -> None:
    found = search(machine("gpu=H100", "driver=580"), parse_wants(["vllm", "flash-attn"]))
    builds = [len(item.builds) for item in found.candidates]
    assert builds == sorted(builds)
    assert {0, 1} == set(builds)


def test_among_builds_the_newest_vllm_comes_first(machine: ReadMachine) -> None:
    found = search(machine("gpu=H100", "driver=580"), parse_wants(["vllm", "flash-attn"]))
    built = [item.vllm.version for item in found.candidates if item.builds and item.vllm]
    orders = [versions.order(version) or () for version in built]
    assert orders == sorted(orders, reverse=True)


def test_the_default_variant_comes_first_then_what_the_driver_knows(
    machine: ReadMachine,
) -> None:
    found = search(machine("gpu=H100", "driver=580"), parse_wants(["torch==2.14.0"]))
    assert [item.torch.tag for item in found.candidates] == ["cu130", "cu126", "cu132"]


def test_a_toolkit_that_is_there_decides_which_build(machine: ReadMachine) -> None:
    facts = ("gpu=H100", "driver=580", "python=3.14", "cuda_toolkit=12.6")
    best = search(machine(*facts), parse_wants(["flash-attn"])).candidates[0]
    assert (best.torch.version, best.torch.tag) == ("2.15.0", "cu126")
    assert best.builds[0].has_toolkit


def test_the_least_change_decides_between_equals(machine: ReadMachine) -> None:
    own = ("torch=2.14.0+cu126", "transformers=5.24.0")
    best = search(machine("gpu=H100", "driver=580", *own), parse_wants(["transformers"]))
    assert best.candidates[0].torch.full == "2.14.0+cu126"


def test_everything_that_was_refused_is_kept(machine: ReadMachine) -> None:
    found = search(machine("gpu=H100", "driver=550"), parse_wants(["vllm"]))
    assert {item.version for item in found.refused["vllm"]} >= {"0.20.2", "0.33.0"}
    nothing = search(machine("gpu=GTX 1080 Ti", "driver=580"), parse_wants(["vllm"]))
    assert nothing.candidates == ()
    assert len(nothing.refused["vllm"]) > 20


def test_a_vllm_whose_torch_is_not_to_be_had_says_which(machine: ReadMachine) -> None:
    found = search(machine("gpu=RTX 5090", "driver=580", "glibc=2.17"), parse_wants(["vllm"]))
    text = next(item.reason.text for item in found.refused["vllm"] if item.version == "0.10.2")
    assert text == "it pins torch 2.8.0: needs glibc 2.28, this system has 2.17"


def test_versions_of_wanted_packages(machine: ReadMachine) -> None:
    wants = parse_wants(["vllm", "fa4", "transformers"])
    best = search(machine("gpu=B200", "driver=580"), wants).candidates[0]
    assert best.version_of("fa4") == "4.0.0b36"
    assert best.version_of("flash-attn") is None
    assert best.version_of("torch") == best.torch.version
