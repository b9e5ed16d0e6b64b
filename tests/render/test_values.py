from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import absent, known, unknown
from flashdoctor.render.values import label, memory, state_text, value_text


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("torch.version", "torch"),
        ("torch.cuda", "torch CUDA"),
        ("flash_attn.wheel.cxx11_abi", "flash-attn wheel C++11 ABI"),
        ("flash_attn_3.version", "flash-attn-3"),
        ("gpu.memory_mib", "GPU memory"),
        ("env.cuda_device_order", "CUDA_DEVICE_ORDER"),
        ("compressed_tensors.version", "compressed-tensors"),
        ("vllm.fa2.missing_symbols", "vLLM FA2 missing symbols"),
    ],
)
def test_label(path: str, name: str) -> None:
    assert label(path) == name


def test_no_two_facts_share_a_label() -> None:
    labels = [label(path) for path in FACTS]
    assert sorted({name for name in labels if labels.count(name) > 1}) == []
    assert all(labels)


@pytest.mark.parametrize(
    ("path", "value", "shown"),
    [
        ("torch.version", "2.7.1+cu126", "2.7.1+cu126"),
        ("torch.version", None, "not installed"),
        ("container.kind", None, "none"),
        ("torch.cxx11_abi", True, "new"),
        ("flash_attn.abi_by_symbols", False, "old"),
        ("driver.uvm_loaded", False, "no"),
        ("gpu.compute_capability", "9.0", "9.0 (sm_90)"),
        ("gpu.compute_capability", "odd", "odd"),
        ("gpu.memory_mib", 81559, "79.6 GiB"),
        ("os.shm_mib", 64, "64 MiB"),
        ("torch.arch_list", [], "empty"),
        ("torch.arch_list", ["sm_80", "sm_90"], "sm_80, sm_90"),
        ("torch.arch_list", [f"sm_{n}" for n in range(10)],
         "sm_0, sm_1, sm_2, sm_3, sm_4, sm_5, sm_6, sm_7 and 2 more"),
        ("torch.pins_unmet", [{"package": "nvidia-nccl-cu12", "installed": None}],
         "package nvidia-nccl-cu12"),
        ("gpu.devices", [{"index": n, "visible": True} for n in range(5)],
         "index 0, visible yes; index 1, visible yes; index 2, visible yes and 2 more"),
        ("gpu.count", {"deep": {"er": 1}}, "..."),
    ],
)  # fmt: skip
def test_value_text(path: str, value: Any, shown: str) -> None:
    assert value_text(path, value) == shown


def test_a_full_list_is_not_cut() -> None:
    assert "more" not in value_text("torch.arch_list", [str(n) for n in range(30)], full=True)


def test_state_text_tells_the_three_states_apart() -> None:
    assert state_text(known("torch.version", "2.7.1", "x")) == "2.7.1"
    assert state_text(absent("torch.version", "x")) == "not installed"
    assert state_text(unknown("torch.version", "timed out", "x")) == "not known (timed out)"
    assert state_text(unknown("torch.version", "", "x")) == "not known"


def test_memory_of_no_sense_is_still_text() -> None:
    assert memory(1024) == "1.0 GiB"
    assert memory(10**400).startswith("1000")
    assert memory(float("nan")) == "nan MiB"
