from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.collect_env import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CUDA used to build PyTorch: None", {"torch.cuda": None}),
        ("CUDA used to build PyTorch: Could not collect", {"torch.cuda": None}),
        ("CUDA used to build PyTorch: N/A", {}),
        ("CUDA used to build PyTorch   : 13.0", {"torch.cuda": "13.0"}),
        ("CUDA used to build PyTorch: 10.1.243", {"torch.cuda": "10.1"}),
        ("XPU used to build PyTorch    : 20250302", {"torch.build": "xpu"}),
        ("PyTorch version: N/A", {"torch.version": None}),
        ("Is CUDA available: No", {"live.cuda_available": False}),
        ("Is CUDA available: N/A", {}),
        ("CUDA runtime version: Could not collect", {}),
        ("CUDA runtime version: No CUDA", {}),
        ("Nvidia driver version: Could not collect", {}),
        ("vLLM Version: N/A (dev)", {}),
        ("vLLM Version: 0.9.2rc2 (git sha: 0123abc)", {"vllm.version": "0.9.2rc2"}),
        ("GPU models and configuration: No CUDA", {}),
        ("OS: macOS 14.5 (arm64)", {"os.system": "Darwin", "os.distribution": "macOS 14.5"}),
        ("GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)", {}),
        ("DOS: 1", {}),
    ],
)
def test_a_single_field(text: str, expected: dict[str, Any], stated: Stated) -> None:
    assert stated(PARSER, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("OS: Windows", {"os.system": "Windows", "os.distribution": "Windows"}),
        ("OS: Ubuntu 22", {"os.system": "Linux", "os.distribution": "Ubuntu 22"}),
        ("OS: Linux", {"os.system": "Linux"}),
        ("OS: WSL2", {"os.system": "Linux", "wsl.version": 2}),
        ("OS: Windows 11 10.0.22000; Ubuntu 22.10",
         {"os.system": "Linux", "os.distribution": "Ubuntu 22.10"}),
        ("OS: Ubuntu 22.04 (WSL2)",
         {"os.system": "Linux", "os.distribution": "Ubuntu 22.04", "wsl.version": 2}),
        ("OS: CachyOS Linux, own kernel",
         {"os.system": "Linux", "os.distribution": "CachyOS Linux"}),
        ("OS: Debian GNU/Linux 12 (bookworm) (aarch64)",
         {"os.system": "Linux", "os.distribution": "Debian GNU/Linux 12",
          "os.platform": "linux_aarch64"}),
    ],
)  # fmt: skip
def test_the_name_of_a_system(text: str, expected: dict[str, Any], stated: Stated) -> None:
    assert stated(PARSER, text) == expected


def test_a_field_outside_of_a_report_is_only_stated(entries: Entries) -> None:
    assert entries(PARSER, "OS: Ubuntu 24.04")["os.distribution"] == [1, 2, "Ubuntu 24.04"]
    report = "Is debug build: False\nOS: Ubuntu 24.04"
    assert entries(PARSER, report)["os.distribution"] == [2, 3, "Ubuntu 24.04"]


def test_different_gpus_are_listed_and_equal_ones_counted(stated: Stated) -> None:
    head = "GPU models and configuration : \n"
    mixed = stated(PARSER, head + "GPU 0: NVIDIA A100-SXM4-40GB\nGPU 1: Tesla T4\n\nGPU 2: x")
    assert mixed == {
        "gpu.name": "NVIDIA A100-SXM4-40GB",
        "gpu.count": 2,
        "gpu.devices": [
            {"index": 0, "name": "NVIDIA A100-SXM4-40GB"},
            {"index": 1, "name": "Tesla T4"},
        ],
    }
    equal = stated(PARSER, head + "GPU 0: Tesla T4 (UUID: GPU-x)\nGPU 1: Tesla T4")
    assert equal == {"gpu.name": "Tesla T4", "gpu.count": 2}


def test_mig_instances_between_the_gpus(stated: Stated) -> None:
    text = "GPU models and configuration: \nGPU 0: NVIDIA A30\n  MIG 1g.6gb     Device  0: \n\n"
    assert stated(PARSER, text) == {
        "gpu.name": "NVIDIA A30",
        "gpu.count": 1,
        "gpu.mig_enabled": True,
    }


def test_pip_in_another_environment_than_torch_is_seen(entries: Entries) -> None:
    text = "PyTorch version: 2.5.1+cu124\n[pip3] torch==2.7.0\n[pip3] flash_attn==2.7.4.post1"
    found = entries(PARSER, text)
    assert found["torch.version"] == [1, 3, "2.5.1+cu124"]
    assert found["flash_attn.version"] == [3, 2, "2.7.4.post1"]


def test_conda_counts_for_packages_only_where_pip_is_silent(stated: Stated) -> None:
    row = "[conda] pytorch   2.5.1   py3.12_cuda12.4_cudnn9.1.0_0    pytorch"
    assert stated(PARSER, row) == {"torch.version": "2.5.1", "torch.cuda": "12.4"}
    assert "torch.version" not in stated(PARSER, "[pip3] numpy==2.1.0\n" + row)


def test_a_variable_cut_short_says_nothing(stated: Stated) -> None:
    head = "     Environment Variables\n"
    line = "NVIDIA_REQUIRE_CUDA=cuda>=12.8 " + "brand=tesla,driver>=470,driver<471 " * 120
    assert stated(PARSER, head + line) == {}
    assert stated(PARSER, head + "NVIDIA_REQUIRE_CUDA=cuda>=12.8") == {
        "container.require_cuda": "cuda>=12.8"
    }


def test_variables_with_secrets_are_not_taken(stated: Stated) -> None:
    head = "     Environment Variables\n"
    assert stated(PARSER, head + "VLLM_API_KEY=abc\nHF_TOKEN=abc\nUSER=somebody") == {}
