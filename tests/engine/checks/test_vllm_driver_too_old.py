from __future__ import annotations

from typing import Any

CHECK = "vllm-driver-too-old"
OLD = {"driver.version": "550.54.15", "vllm.version": "0.20.2"}


def test_the_detail_names_the_floor(ask: Any) -> None:
    assert ask(CHECK, OLD).detail == (
        "vLLM 0.20.2 is built with CUDA 13.0 and needs driver 580.65.06 or newer, "
        "here it is 550.54.15."
    )


def test_a_compat_library_lifts_it_on_data_centre_gpus_only(ask: Any) -> None:
    compat = {
        **OLD,
        "driver.libcuda_origin": "compat",
        "driver.libcuda_version": "580.95.05",
    }
    assert ask(CHECK, {**compat, "gpu.name": "NVIDIA L4"}).outcome == "pass"
    assert ask(CHECK, {**compat, "gpu.name": "NVIDIA GeForce RTX 4090"}).outcome == "fail"


def test_torch_proves_cuda_of_the_same_major(ask: Any) -> None:
    seen = {**OLD, "live.cuda_available": True}
    assert ask(CHECK, {**seen, "torch.version": "2.11.0+cu130"}).outcome == "pass"
    assert ask(CHECK, {**seen, "torch.version": "2.11.0+cu128"}).outcome == "fail"
