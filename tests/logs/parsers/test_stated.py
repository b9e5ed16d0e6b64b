from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.stated import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("GPU: Tesla T4 (compute capability 7.5)",
         {"gpu.name": "Tesla T4", "gpu.compute_capability": "7.5"}),
        ("**GPU**: 2x RTX 3090", {"gpu.name": "RTX 3090", "gpu.count": 2}),
        ("- GPU: RTX 5090 (GB202, 10de:2b85)", {"gpu.name": "RTX 5090"}),
        ("GPU: 8x NVLink (NV18) GPUs", {"gpu.count": 8}),
        ("| GPU | RTX 4090 |", {"gpu.name": "RTX 4090"}),
        ("8xH100", {"gpu.name": "H100", "gpu.count": 8}),
        ("RTX 4090 x 2", {"gpu.name": "RTX 4090", "gpu.count": 2}),
        ("Driver version: 535", {"driver.version": "535"}),
        ("Nvidia driver: 12.2", {"driver.cuda": "12.2"}),
        ("nvidia-smi CUDA Version: 11.0", {"driver.cuda": "11.0"}),
        ("nvidia-smi reports CUDA Version: 12.4", {"driver.cuda": "12.4"}),
        ("- torch.version.cuda: 13.0", {"torch.cuda": "13.0"}),
        ("torch CUDA build: 12.6", {"torch.cuda": "12.6"}),
        ("torch: nightly cu128; vLLM nightly (July 2025)", {"torch.cuda": "12.8"}),
        ("torch 2.4.0+cu121", {"torch.version": "2.4.0+cu121", "torch.cuda": "12.1"}),
        ("CUDA toolkit: 12.1", {"toolkit.version": "12.1"}),
        ("python=3.12", {"python.version": "3.12"}),
        ("Python 3.10", {"python.version": "3.10"}),
        ("vllm==0.6.3", {"vllm.version": "0.6.3"}),
        ("vLLM Version: 0.5.5", {"vllm.version": "0.5.5"}),
        ("Flash Attention version: 2.5.6", {"flash_attn.version": "2.5.6"}),
        ("gcc 13", {"os.compiler": "gcc 13", "os.compiler_version": "13"}),
        ("glibc: 2.31", {"os.glibc": "2.31"}),
        ("compute capability: (8, 6)", {"gpu.compute_capability": "8.6"}),
        ("WSL2", {"wsl.version": 2}),
        ("Ubuntu 22.04", {"os.distribution": "Ubuntu 22.04"}),
        ("Windows 11", {"os.system": "Windows"}),
        ("Linux aarch64", {"os.system": "Linux", "os.platform": "linux_aarch64"}),
        ("model: Qwen3 compressed-tensors", {"model.name": "Qwen3"}),
        ("Environment: Ubuntu 22.04 / torch 2.3.0 / RTX 4090",
         {"os.distribution": "Ubuntu 22.04", "torch.version": "2.3.0", "gpu.name": "RTX 4090"}),
        ("NVIDIA driver: 545.23.08, RTX 3090",
         {"driver.version": "545.23.08", "gpu.name": "RTX 3090"}),
    ],
)  # fmt: skip
def test_a_statement(line: str, expected: dict[str, Any], entries: Entries) -> None:
    assert entries(PARSER, line) == {path: [1, 2, value] for path, value in expected.items()}


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        ("CUDA: 12.1", "toolkit.version", "12.1"),
        ("CUDA 12.4, driver 550.54", "driver.cuda", "12.4"),
        ("OS: Windows 11; Ubuntu 22.10", "wsl.version", 2),
        ("importing flash attention; torch is a CUDA 12 build", "torch.cuda", "12"),
        ("CUDA 12.1 docker image", "container.kind", "docker"),
        ("container vllm-openai v0.15.1", "vllm.version", "0.15.1"),
        ("Ubuntu on an Azure trusted-launch VM", "os.distribution", "Ubuntu"),
        ("I'm using torch 2.5.1 with flash-attn 2.7.2 on my RTX 3090", "gpu.name", "RTX 3090"),
    ],
)
def test_what_is_less_certain(line: str, path: str, value: object, entries: Entries) -> None:
    assert entries(PARSER, line)[path] == [1, 1, value]


@pytest.mark.parametrize(
    "line",
    [
        "FlashAttention only supports Ampere GPUs or newer.",
        "flash-attn 2.8 requires torch 2.4",
        "Please upgrade to vllm 0.9.0, it works on an A100",
        "Requirements: CUDA 11.8 or above, Python 3.8+",
        "Python: 3.8+",
        "CUDA: 11.8 or higher",
        "GPU: NVIDIA GPU with compute capability 7.0 or higher (A100, H100)",
        "device: cuda:0",
        "driver: nvidia",
        "model: LlamaForCausalLM",
        "GPU: 0",
        "RuntimeError: torch 2.1.0 is not supported",
        '  File "/x/torch 2.1.0/y.py", line 3',
        "pip install torch==2.4.0",
        "The GPU is an H100 or an A100",
        "wheel built for torch 2.4.0 and CUDA 12.1",
        "| NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: 11.4     |",
    ],
)
def test_prose_and_requirements_are_no_facts(line: str, stated: Stated) -> None:
    assert stated(PARSER, line) == {}


@pytest.mark.parametrize(
    "line",
    [
        "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)",
        "GCC version: (x86_64-win32-seh-rev0, Built by MinGW-W64 project) 8.1.0",
    ],
)
def test_a_compiler_that_no_build_would_take(line: str, stated: Stated) -> None:
    assert stated(PARSER, line) == {}


def test_mentions_that_differ_say_nothing(stated: Stated) -> None:
    text = "I have torch 2.5.1 here\nmy laptop has torch 2.6.0 there\n"
    assert "torch.version" not in stated(PARSER, text)


def test_a_head_without_a_row_says_nothing(stated: Stated) -> None:
    assert stated(PARSER, "| GPU | Driver |\n|---|---|\n\nthat was it") == {}
