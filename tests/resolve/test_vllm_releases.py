from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.resolve.machine import Machine
from flashdoctor.resolve.vllm_releases import attention_note, vllm_releases
from flashdoctor.resolve.wants import Want

ReadMachine = Callable[..., Machine]


@pytest.mark.parametrize(
    ("facts", "version", "word"),
    [
        (("gpu=H100", "driver=550"), "0.33.0", "CUDA 13 and needs driver 580.65.06"),
        (("gpu=H100", "driver=580", "glibc=2.28"), "0.19.1", "needs glibc 2.31"),
        (("gpu=H100", "driver=580", "python=3.9"), "0.33.0", "takes Python"),
        (("gpu=RTX 5090", "driver=580"), "0.8.5.post1", "nothing for sm_120"),
        (("gpu=GTX 1080 Ti", "driver=580"), "0.19.1", "starts at compute capability 7.0"),
        (("gpu=GH200 480GB", "driver=580", "platform=linux_aarch64"), "0.9.2", "no wheel for"),
        (("gpu=H100", "driver=580", "platform=win_amd64"), "0.33.0", "no build for Windows"),
        (("gpu=H100", "driver=580", "python.tag=cp314t", "python=3.14"), "0.33.0", "free-threaded"),
    ],
)
def test_each_limit_is_a_reason(
    machine: ReadMachine, facts: tuple[str, ...], version: str, word: str
) -> None:
    refused = vllm_releases(machine(*facts), Want("vllm"))[1]
    assert word in next(item.reason.text for item in refused if item.version == version)


def test_an_installed_vllm_needs_no_wheel(machine: ReadMachine) -> None:
    facts = ("gpu=GH200 480GB", "driver=580", "platform=linux_aarch64")
    want = Want("vllm", "==0.9.2")
    assert vllm_releases(machine(*facts), want)[0] == []
    assert len(vllm_releases(machine(*facts, "vllm=0.9.2"), want)[0]) == 1


def test_a_release_carries_its_pin_and_its_cuda(machine: ReadMachine) -> None:
    releases, _ = vllm_releases(machine("gpu=H100", "driver=580"), Want("vllm"))
    first = releases[0]
    assert (first.version, first.torch, first.cuda) == ("0.33.0", "2.14.0", "13.0")
    assert len(first.bundled) == 3


def test_a_named_patch_release_is_looked_at_too(machine: ReadMachine) -> None:
    here = machine("gpu=H100", "driver=580")
    releases, _ = vllm_releases(here, Want("vllm", "==0.11.0"))
    assert [(item.version, item.torch) for item in releases] == [("0.11.0", "2.8.0")]
    assert vllm_releases(here, Want("vllm", "==99.0")) == ([], [])
    understated = vllm_releases(machine("gpu=H100", "glibc=2.31"), Want("vllm", "==0.20.0"))[1]
    assert "needs glibc 2.34" in understated[0].reason.text


@pytest.mark.parametrize(
    ("gpu", "want", "word"),
    [
        ("H100", ">=0.10", "brings its own FlashAttention-2"),
        ("Tesla V100-SXM2-16GB", "==0.19.1", "nothing for sm_70"),
        ("H100", "==0.4.3", "vllm-flash-attn"),
    ],
)
def test_whether_flash_attn_is_needed_beside_it(
    machine: ReadMachine, gpu: str, want: str, word: str
) -> None:
    here = machine(f"gpu={gpu}", "driver=550", "python=3.11")
    release = vllm_releases(here, Want("vllm", want))[0][0]
    assert word in attention_note(here, release)
