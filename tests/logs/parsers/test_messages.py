from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.messages import _ROWS, PARSER, _Row

Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        ("Your Tesla T4 GPU has compute capability 7.5.", "gpu.compute_capability", "7.5"),
        ("Minimum capability: 80. Current capability: 75.", "gpu.compute_capability", "7.5"),
        ("    Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.", "gpu.name", "NVIDIA GB10"),
        ("requires device with capability > (8, 0) but your GPU has capability (7, 5) (too old)",
         "gpu.compute_capability", "7.5"),
        ("(GPU 0; 15.78 GiB total capacity; 14.2 GiB already allocated)", "gpu.memory_mib", 16159),
        ("PyTorch settings found: CUDA_VERSION=117, Highest Compute Capability: 7.5.", "torch.cuda",
         "11.7"),
        ("initialization error: nvml error: driver/library version mismatch: unknown.",
         "nvml.status", "version-mismatch"),
        ("pynvml.NVMLError_DriverNotLoaded: Driver Not Loaded", "nvml.status", "driver-not-loaded"),
        ("NVML Shared Library Not Found", "nvml.status", "library-not-found"),
        ("Using 'pin_memory=False' as WSL is detected.", "wsl.version", 2),
        ("ptxas --gpu-name=sm_121a x.ptx", "gpu.compute_capability", "12.1"),
        ("node:1 [0] NCCL INFO cudaDriverVersion 12040", "driver.cuda", "12.4"),
    ],
)  # fmt: skip
def test_one_message(line: str, path: str, value: object, stated: Stated) -> None:
    assert stated(PARSER, line)[path] == value


@pytest.mark.parametrize(
    "line",
    [
        "FlashAttention only supports Ampere GPUs or newer.",
        "compute capability 8.0 or higher is required",
        "the NVIDIA driver on your system is too old (found version x)",
        "FA2 is only supported on devices with compute capability >= 8",
    ],
)
def test_requirements_are_no_facts(line: str, stated: Stated) -> None:
    assert stated(PARSER, line) == {}


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row.keyword)
def test_a_row_has_a_keyword_in_lower_case(row: _Row) -> None:
    assert row.keyword == row.keyword.lower()
    assert row.keyword in PARSER.keywords
