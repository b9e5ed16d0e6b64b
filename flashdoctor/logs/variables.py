"""Environment variables as facts: which are looked at, and what each one states. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from flashdoctor.model.regex import regex

NAME = (
    r"(?:(?:CUDA|CUDNN|NVIDIA|VLLM|NCCL|TORCH|TORCHINDUCTOR|PYTORCH|FLASH_ATTENTION|FLASH_ATTN"
    r"|FLASHATTENTION|FLASHINFER|TRITON|XFORMERS|SGLANG|SGL|BNB|TRANSFORMERS_ATTN)_[A-Z0-9_]{1,60}"
    r"|MAX_JOBS|NVCC_[A-Z_]{2,30}|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH|CONDA_PREFIX|VIRTUAL_ENV"
    r"|CUDACXX|NVTE_[A-Z_]{2,40}|DISABLE_KERNEL_MAPPING|USE_HUB_KERNELS)"
)
"""What a variable must be called to be looked at: no name of an account, a host or a key."""

_SECRET = regex(r"TOKEN|KEY|SECRET|PASS")
_TEXTS: Mapping[str, str] = {
    "CUDA_VISIBLE_DEVICES": "gpu.visible_devices",
    "NVIDIA_VISIBLE_DEVICES": "container.visible_devices",
    "NVIDIA_DRIVER_CAPABILITIES": "container.driver_capabilities",
    "NVIDIA_REQUIRE_CUDA": "container.require_cuda",
    "VLLM_ATTENTION_BACKEND": "env.vllm_attention_backend",
    "VLLM_FLASH_ATTN_VERSION": "env.vllm_flash_attn_version",
    "VLLM_USE_V1": "env.vllm_use_v1",
    "VLLM_WSL2_ENABLE_PIN_MEMORY": "env.vllm_wsl2_enable_pin_memory",
    "VLLM_USE_V2_MODEL_RUNNER": "env.vllm_use_v2_model_runner",
    "PYTORCH_CUDA_ALLOC_CONF": "env.pytorch_cuda_alloc_conf",
    "PYTORCH_ALLOC_CONF": "env.pytorch_cuda_alloc_conf",
    "CUDA_DEVICE_ORDER": "env.cuda_device_order",
    "TORCH_CUDA_ARCH_LIST": "env.torch_cuda_arch_list",
    "CUDA_HOME": "toolkit.home",
    "CUDA_PATH": "toolkit.home",
}
_PATHS: Mapping[str, str] = {
    "LD_LIBRARY_PATH": "env.ld_library_path",
    "PYTHONPATH": "python.pythonpath",
}
_ENVIRONMENTS = {"CONDA_PREFIX": "conda", "VIRTUAL_ENV": "venv"}
_TRUE = frozenset({"1", "true", "yes"})
_DRIVE = regex(r"[A-Za-z]:[\\/]")
_REFERENCE = regex(r"\$\{?\w|%\w{2,40}%")
_ONLY_REFERENCE = regex(r"\$\{?\w{1,80}\}?|%\w{1,80}%")
_TOOLKIT = regex(r"(?:cuda-|CUDA[\\/]v)(\d{1,2}\.\d)(?![\d.]*\d{3})")


def is_kept(name: str) -> bool:
    """Whether a variable may be kept at all."""
    return re.fullmatch(NAME, name) is not None and not _SECRET.search(name)


def facts_of(name: str, value: str) -> Iterator[tuple[str, Any]]:
    """Yield the paths and values that a variable states."""
    if name in _TEXTS and not _ONLY_REFERENCE.fullmatch(value):
        yield _TEXTS[name], value
    elif name in _PATHS:
        yield _PATHS[name], _folders(value)
    elif name in _ENVIRONMENTS:
        yield "python.environment", _ENVIRONMENTS[name]
    elif name == "NVIDIA_DISABLE_REQUIRE":
        yield "container.require_disabled", value.lower() in _TRUE


def toolkit_of(name: str, value: str) -> str | None:
    """Return the version in the name of a toolkit's folder, `/usr/local/cuda-12.1`."""
    match = _TOOLKIT.search(value) if name in {"CUDA_HOME", "CUDA_PATH", "CUDACXX"} else None
    return match[1] if match else None


def _folders(value: str) -> list[str]:
    separator = ";" if ";" in value or _DRIVE.match(value) else ":"
    parts = (part.strip() for part in value.split(separator, 64))
    return [part for part in parts if part and not _REFERENCE.match(part)]
