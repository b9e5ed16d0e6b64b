from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.segments import segment_items, split_list
from flashdoctor.model.catalog import FACTS


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Ubuntu 22.04, CUDA 12.4", ["Ubuntu 22.04", "CUDA 12.4"]),
        ("CUDA 12.1 / torch 2.3 | RTX 4090", ["CUDA 12.1", "torch 2.3", "RTX 4090"]),
        ("torch 2.4.0+cu121 with Python 3.10", ["torch 2.4.0+cu121", "Python 3.10"]),
        ("A100/H100", ["A100", "H100"]),
        (" , ", []),
    ],
)
def test_a_list(text: str, parts: list[str]) -> None:
    assert split_list(text) == parts


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("driver 550.54", {"driver.version": "550.54"}),
        ("NVIDIA driver version 550", {"driver.version": "550"}),
        ("cuda-12.1", {"toolkit.version": "12.1"}),
        ("vllm==0.6.3", {"vllm.version": "0.6.3"}),
        ("flash-attn 2.7.4.post1", {"flash_attn.version": "2.7.4.post1"}),
        ("2x RTX 3090 GPUs", {"gpu.name": "RTX 3090", "gpu.count": 2}),
        ("A100 80GB (sm_80)", {"gpu.name": "A100 80GB", "gpu.compute_capability": "8.0"}),
        ("compute capability 8.9", {"gpu.compute_capability": "8.9"}),
        ("Ubuntu 22.04 (WSL2)", {"wsl.version": 2, "os.distribution": "Ubuntu 22.04"}),
        ("Windows 11 Pro", {"os.system": "Windows"}),
        ("aarch64", {"os.platform": "linux_aarch64"}),
        ("inside docker", {"container.kind": "docker"}),
        ("works on RTX 3090", {}),
        ("Ubuntu is great", {}),
        ("the driver", {}),
        ("page 12.4", {}),
    ],
)
def test_one_part(text: str, facts: dict[str, object]) -> None:
    assert {path: value for path, value, _ in segment_items(text)} == facts


@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    for part in split_list(text):
        assert all(path in FACTS for path, _, _ in segment_items(part))
