"""The few environment variables that change which library is loaded or which kernel runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flashdoctor.model.facts import Fact, absent, known
from flashdoctor.model.scrub import scrub_path, scrub_text
from flashdoctor.probes.library_search import split_search_path

_LD_LIBRARY_PATH = "env.ld_library_path"
_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "env.vllm_attention_backend": ("VLLM_ATTENTION_BACKEND",),
    "env.vllm_flash_attn_version": ("VLLM_FLASH_ATTN_VERSION",),
    "env.vllm_use_v1": ("VLLM_USE_V1",),
    "env.vllm_wsl2_enable_pin_memory": ("VLLM_WSL2_ENABLE_PIN_MEMORY",),
    "env.vllm_use_v2_model_runner": ("VLLM_USE_V2_MODEL_RUNNER",),
    "env.pytorch_cuda_alloc_conf": ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"),
    "env.cuda_device_order": ("CUDA_DEVICE_ORDER",),
    "env.torch_cuda_arch_list": ("TORCH_CUDA_ARCH_LIST",),
}
PATHS = (_LD_LIBRARY_PATH, *_VARIABLES)


def read_environment(_root: Path, environ: Mapping[str, str]) -> list[Fact]:
    """Read the variables that are allow-listed here, and no other; values are scrubbed."""
    return [
        _search_path(environ),
        *(_variable(path, names, environ) for path, names in _VARIABLES.items()),
    ]


def _search_path(environ: Mapping[str, str]) -> Fact:
    value = environ.get("LD_LIBRARY_PATH")
    if value is None:
        return absent(_LD_LIBRARY_PATH, "LD_LIBRARY_PATH")
    folders = [scrub_path(folder) for folder in split_search_path(value)]
    return known(_LD_LIBRARY_PATH, folders, "LD_LIBRARY_PATH")


def _variable(path: str, names: tuple[str, ...], environ: Mapping[str, str]) -> Fact:
    name = next((name for name in names if name in environ), None)
    return absent(path, names[0]) if name is None else known(path, scrub_text(environ[name]), name)
