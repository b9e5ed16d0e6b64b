from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.engine.assume import read_assumptions
from flashdoctor.errors import UsageError

WHEEL = "flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE-cp310-cp310-linux_x86_64.whl"


@pytest.mark.parametrize(
    ("item", "path", "value"),
    [
        ("gpu=RTX 4090", "gpu.name", "RTX 4090"),
        ("gpu_count=2", "gpu.count", 2),
        ("gpu_memory_gib=23.5", "gpu.memory_mib", 24064),
        ("compute_capability=sm_90", "gpu.compute_capability", "9.0"),
        ("driver=535.161.07", "driver.version", "535.161.07"),
        ("cuda_toolkit=12.4", "toolkit.version", "12.4"),
        ("torch=2.6.0+cu124", "torch.version", "2.6.0+cu124"),
        ("torch_cuda=cu124", "torch.cuda", "12.4"),
        ("cxx11_abi=TRUE", "torch.cxx11_abi", True),
        ("flash_attn=2.8.3", "flash_attn.version", "2.8.3"),
        ("wsl=2", "wsl.version", 2),
        ("platform=linux_aarch64", "os.platform", "linux_aarch64"),
        ("platform=aarch64", "os.platform", "linux_aarch64"),
        ("platform=linux/arm64", "os.platform", "linux_aarch64"),
        ("platform=manylinux_2_28_aarch64", "os.platform", "linux_aarch64"),
        ("platform=x86_64", "os.platform", "linux_x86_64"),
        ("platform=Windows", "os.platform", "win_amd64"),
        ("platform=win-amd64", "os.platform", "win_amd64"),
        ("platform=macosx_14_0_arm64", "os.platform", "macosx_14_0_arm64"),
        ("flash_attn.sass=sm_80, sm_90", "flash_attn.sass", ["sm_80", "sm_90"]),
    ],
)
def test_a_key_is_read_as_its_kind(item: str, path: str, value: object) -> None:
    fact = read_assumptions([item])[path]
    assert (fact.state, fact.value, fact.source) == ("known", value, "--assume")


def test_absent_is_known_to_be_missing() -> None:
    assert read_assumptions(["flash_attn=absent"])["flash_attn.version"].state == "absent"
    assert read_assumptions(["gpu=absent"])["gpu.compute_capability"].state == "absent"


@pytest.mark.parametrize("prefix", ["", "some/folder/", "https://host/download/"])
def test_a_wheel_name_states_a_version(prefix: str) -> None:
    stated = read_assumptions([f"flash_attn={prefix}{WHEEL}"])
    assert stated.value("flash_attn.version") == "2.7.4.post1"
    assert stated.value("flash_attn.wheel.file") == WHEEL


def test_what_a_build_wrote_behind_its_version_is_read() -> None:
    stated = read_assumptions(["flash_attn=2.7.4.post1+cu12torch2.6cxx11abiFALSE"])
    assert stated.value("flash_attn.version") == "2.7.4.post1"
    assert stated.value("flash_attn.wheel.torch") == "2.6"
    assert stated.value("flash_attn.wheel.cuda") == "12"
    assert stated.value("flash_attn.wheel.cxx11_abi") is False
    assert "flash_attn.wheel.file" not in stated


def test_wheels_of_the_later_distributions_are_told_apart() -> None:
    wheel = "flash_attn_3-3.0.0b1+cu128torch2.8-cp39-abi3-linux_x86_64.whl"
    stated = read_assumptions([f"flash_attn={wheel}"])
    assert stated.value("flash_attn_3.version") == "3.0.0b1"
    assert "flash_attn.version" not in stated


def test_a_torch_for_cpu_has_no_cuda() -> None:
    assert read_assumptions(["torch_cuda=cpu"])["torch.cuda"].state == "absent"


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("gpu", "not KEY=VALUE"),
        ("=x", "not KEY=VALUE"),
        ("gpu=", "not KEY=VALUE"),
        ("gpuu=L4", "did you mean 'gpu'"),
        ("driver=new", "not a version"),
        ("gpu_count=two", "not a whole number"),
        ("gpu_memory_gib=lots", "not a number"),
        ("gpu_memory_gib=inf", "not a number"),
        ("gpu_memory_gib=nan", "not a number"),
        ("cxx11_abi=maybe", "neither true nor false"),
        ("compute_capability=nine", "not a compute capability"),
        ("flash_attn=numpy.whl", "not the name of a flash-attn wheel"),
        ("flash_attn=numpy-2.1.0-cp312-cp312-linux_x86_64.whl", "not the name of a flash-attn"),
        ("gpu.devices=x", "cannot be assumed"),
    ],
)
def test_a_mistake_is_a_usage_error(item: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_assumptions([item])


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        read_assumptions(["gpuu=L4", "driver=new"])
    assert "gpuu" in caught.value.message
    assert "'new'" in caught.value.message


@given(st.lists(st.text(), max_size=3))
def test_any_text_is_read_or_refused(items: list[str]) -> None:
    with contextlib.suppress(UsageError):
        read_assumptions(items)
