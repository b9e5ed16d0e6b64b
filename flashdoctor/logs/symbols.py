"""Symbols and shared objects that a loader's message names: whose they are. Pure.

Prefixes are those of the libraries' public headers; a C++ name is read as far as its scope.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from flashdoctor.model.mangled import belongs_to_torch, cxx11_abi

_C_OWNERS: tuple[tuple[str, str], ...] = (
    (r"_?_?nvJitLink", "nvjitlink"),
    (r"_?_?nvPTXCompiler", "nvjitlink"),
    (r"nccl[A-Z]|pnccl", "nccl"),
    (r"cudnn[A-Z]?", "cudnn"),
    (r"cublas(Lt)?[A-Z]?", "cublas"),
    (r"cusparse|cusolver|cufft|curand|cusparselt", "cublas"),
    (r"__cuda[A-Z]|cuda[A-Z]|libcudart", "cudart"),
    (r"cu[A-Z][a-z]|libcuda\.so\.1", "cuda-driver"),
    (r"GLIBCXX_|CXXABI_|__cxa_|_ZSt|_ZNSt|_ZNKSt|_ZTVNSt|_ZdlPv|_Znwm", "libstdcxx"),
    (r"_?Py[A-Z_]", "python"),
)
_COMPILED = tuple((re.compile(pattern), owner) for pattern, owner in _C_OWNERS)

_LIBRARIES: tuple[tuple[str, str], ...] = (
    (r"flash_attn_3|flash_attn_interface|flashattn-hopper|fa3|hopper/", "flash-attn-3"),
    (r"vllm_flash_attn|vllm/_vllm_fa|_vllm_fa[234]_C", "vllm-flash-attn"),
    (r"flash_attn_2_cuda|flash_attn_cuda|rotary_emb|dropout_layer_norm", "flash-attn"),
    (r"fused_dense_lib|flash_attn/|flash_attn-", "flash-attn"),
    (r"(?:^|/)vllm/|vllm/_C|_moe_C|_rocm_C|vllm/\S*\.so", "vllm"),
    (r"xformers/", "xformers"),
    (r"bitsandbytes", "bitsandbytes"),
    (r"awq_ext|awq_v2_ext|awq_inference_engine|autoawq_kernels|awq_", "awq"),
    (r"exllama|autogptq_|gptqmodel_|marlin_cuda|eetq", "exllama"),
    (r"sgl_kernel|common_ops", "sgl-kernel"),
    (r"(?:^|/)torch(?:vision|audio)?/|libtorch|libc10|_C\.cpython", "torch"),
)  # fmt: skip
_LIBRARY_OWNERS = tuple((re.compile(pattern), owner) for pattern, owner in _LIBRARIES)

_ABI: Mapping[bool | None, str] = {True: "new", False: "old", None: "none"}


def symbol_owner(symbol: str) -> str:
    """Return who must define a symbol: torch, cudart, nccl, ..., else `other`."""
    name = symbol.partition("@")[0]
    version = symbol.partition("@")[2].lstrip("@")
    if belongs_to_torch(name):
        return "torch"
    for text in (name, version):
        for pattern, owner in _COMPILED:
            if pattern.match(text):
                return owner
    return "other"


def symbol_abi(symbol: str) -> str:
    """Return which std::string a C++ symbol takes: `new`, `old` or `none`.

    Pastes cut symbols short; what is left of one still tells where it holds the string's name.
    """
    name = symbol.partition("@")[0]
    if not name.startswith("_Z"):
        return "none"
    try:
        return _ABI[cxx11_abi([name])]
    except ValueError:
        return "none"


def library_owner(path: str) -> str:
    """Return whose shared object a file is, by its path or name, else `other`."""
    for pattern, owner in _LIBRARY_OWNERS:
        if pattern.search(path):
            return owner
    return "other"
